-- name: find
-- What a token opens, by the hash of it. Needs no right on the table itself.
SELECT
    workspace_id,
    principal_id,
    name,
    role,
    audiences,
    owned_sources,
    default_audience,
    expired,
    revoked
FROM principal_of_token($1)

-- name: listing
-- Every token of a workspace with its holder, oldest first; for the operator.
SELECT
    c.token_id,
    p.name,
    p.role,
    c.issued_at,
    c.expires_at,
    c.revoked_at,
    c.revoked_at IS NULL AND coalesce(c.expires_at > clock_timestamp(), true) AS valid
FROM credentials c
JOIN principals p ON p.workspace_id = c.workspace_id AND p.principal_id = c.principal_id
WHERE c.workspace_id = $1
ORDER BY c.issued_at, c.token_id

-- name: answers
-- Nothing at all: whether the database answers.
SELECT true
