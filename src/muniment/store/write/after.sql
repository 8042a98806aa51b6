-- As in commit.sql, `LATERAL (... OFFSET 0)` makes each statement go from its few keys to an index, also
-- with a plan that was made while the tables were empty.

-- name: move_claims
-- Claims of objects that another object answers for from now on.
UPDATE assertions t
SET head_id = found.head_id
FROM (
    SELECT b.place, m.head_id
    FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
    CROSS JOIN LATERAL (
        SELECT c.ctid AS place FROM assertions c
        WHERE c.workspace_id = $1 AND c.object_id = m.object_id AND c.head_id <> m.head_id
        OFFSET 0) b) found
WHERE t.ctid = found.place

-- name: move_closed_claims
-- The same for claims that are no longer current.
UPDATE assertion_history t
SET head_id = found.head_id
FROM (
    SELECT b.place, m.head_id
    FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
    CROSS JOIN LATERAL (
        SELECT c.ctid AS place FROM assertion_history c
        WHERE c.workspace_id = $1 AND c.object_id = m.object_id AND c.head_id <> m.head_id
        OFFSET 0) b) found
WHERE t.ctid = found.place

-- name: move_links_from
-- Links that start at such objects.
UPDATE links t
SET src_head_id = found.head_id
FROM (
    SELECT b.place, m.head_id
    FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
    CROSS JOIN LATERAL (
        SELECT c.ctid AS place FROM links c
        WHERE c.workspace_id = $1 AND c.src_id = m.object_id AND c.src_head_id <> m.head_id
        OFFSET 0) b) found
WHERE t.ctid = found.place

-- name: move_links_to
-- Links that end at such objects.
UPDATE links t
SET dst_head_id = found.head_id
FROM (
    SELECT b.place, m.head_id
    FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
    CROSS JOIN LATERAL (
        SELECT c.ctid AS place FROM links c
        WHERE c.workspace_id = $1 AND c.dst_head_id = m.object_id AND c.dst_id = c.dst_head_id
            AND c.dst_head_id <> m.head_id
        UNION ALL
        SELECT c.ctid FROM links c
        WHERE c.workspace_id = $1 AND c.dst_id = m.object_id AND c.dst_id <> c.dst_head_id
            AND c.dst_head_id <> m.head_id
        OFFSET 0) b) found
WHERE t.ctid = found.place

-- name: move_closed_links_from
-- The same for links that are no longer current.
UPDATE link_history t
SET src_head_id = found.head_id
FROM (
    SELECT b.place, m.head_id
    FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
    CROSS JOIN LATERAL (
        SELECT c.ctid AS place FROM link_history c
        WHERE c.workspace_id = $1 AND c.src_id = m.object_id AND c.src_head_id <> m.head_id
        OFFSET 0) b) found
WHERE t.ctid = found.place

-- name: move_closed_links_to
-- The same for links that are no longer current.
UPDATE link_history t
SET dst_head_id = found.head_id
FROM (
    SELECT b.place, m.head_id
    FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
    CROSS JOIN LATERAL (
        SELECT c.ctid AS place FROM link_history c
        WHERE c.workspace_id = $1 AND c.dst_id = m.object_id AND c.dst_head_id <> m.head_id
        OFFSET 0) b) found
WHERE t.ctid = found.place

-- name: move_documents
-- Documents follow the object that answers for them, and leave every route when it does not take part.
WITH stirred AS (
    SELECT unnest($2::uuid[]) AS object_id
    UNION
    SELECT o.object_id
    FROM unnest($2::uuid[]) AS k (head_id)
    CROSS JOIN LATERAL (
        SELECT b.object_id FROM objects b
        WHERE b.workspace_id = $1 AND b.head_id = k.head_id AND b.head_id <> b.object_id
        OFFSET 0) o
),
found AS (
    SELECT d.place, h.object_id, h.audience, h.status
    FROM stirred s
    CROSS JOIN LATERAL (
        SELECT b.head_id FROM objects b
        WHERE b.workspace_id = $1 AND b.object_id = s.object_id
        OFFSET 0) o
    CROSS JOIN LATERAL (
        SELECT b.object_id, b.audience, b.status FROM objects b
        WHERE b.workspace_id = $1 AND b.object_id = o.head_id
        OFFSET 0) h
    CROSS JOIN LATERAL (
        SELECT b.ctid AS place FROM search_documents b
        WHERE b.workspace_id = $1 AND b.object_id = s.object_id
        OFFSET 0) d
)
UPDATE search_documents d
SET head_id = f.object_id, head_audience = f.audience, active = (f.status = 'active')
FROM found f
WHERE d.ctid = f.place

-- name: drop_names
-- Names that a redaction took.
DELETE FROM object_aliases a
USING (
    SELECT b.place
    FROM unnest($2::text[], $3::text[], $4::text[]) AS k (canonical, type, audience)
    CROSS JOIN LATERAL (
        SELECT c.ctid AS place FROM object_aliases c
        WHERE c.workspace_id = $1
            AND c.canonical = k.canonical
            AND c.type = k.type
            AND c.audience = k.audience
        OFFSET 0) b) found
WHERE a.ctid = found.place

-- name: names_of
-- Every name that leads to an object, its present one first.
SELECT a.name, o.created_pos
FROM object_aliases a
CROSS JOIN LATERAL (
    SELECT b.created_pos FROM objects b
    WHERE b.workspace_id = $1 AND b.object_id = a.object_id
    OFFSET 0) o
WHERE a.workspace_id = $1 AND a.object_id = $2
ORDER BY a.is_current DESC, a.pos, a.canonical

-- name: claims_of
-- All claims of an object, closed ones too, whose documents hold its name.
SELECT pos, property, value FROM assertions WHERE workspace_id = $1 AND object_id = $2
UNION ALL
SELECT pos, property, value FROM assertion_history WHERE workspace_id = $1 AND object_id = $2
ORDER BY pos

-- name: replace_documents
-- Documents made anew, for instance after a change of name.
UPDATE search_documents d
SET tsv = found.tsv::tsvector, length = found.length, tokenizer = found.tokenizer
FROM (
    SELECT b.place, k.tsv, k.length, k.tokenizer
    FROM unnest($2::bigint[], $3::text[], $4::integer[], $5::smallint[])
        AS k (doc_pos, tsv, length, tokenizer)
    CROSS JOIN LATERAL (
        SELECT c.ctid AS place FROM search_documents c
        WHERE c.workspace_id = $1 AND c.doc_pos = k.doc_pos
        OFFSET 0) b) found
WHERE d.ctid = found.place

-- name: touch_closed_claims
-- A claim that one batch saw again and then closed.
UPDATE assertion_history t
SET last_observed = $2, times = found.times
FROM (
    SELECT b.place, k.times
    FROM unnest($3::bigint[], $4::integer[]) AS k (pos, times)
    CROSS JOIN LATERAL (
        SELECT c.ctid AS place FROM assertion_history c
        WHERE c.workspace_id = $1 AND c.pos = k.pos
        OFFSET 0) b) found
WHERE t.ctid = found.place

-- name: touch_closed_links
-- A link that one batch saw again and then closed.
UPDATE link_history t
SET last_observed = $2, times = found.times
FROM (
    SELECT b.place, k.times
    FROM unnest($3::bigint[], $4::integer[]) AS k (pos, times)
    CROSS JOIN LATERAL (
        SELECT c.ctid AS place FROM link_history c
        WHERE c.workspace_id = $1 AND c.pos = k.pos
        OFFSET 0) b) found
WHERE t.ctid = found.place

-- name: redact_claims
-- Closed claims whose event was redacted.
DELETE FROM assertion_history WHERE workspace_id = $1 AND pos = ANY ($2::bigint[])

-- name: redact_links
-- Closed links whose event was redacted.
DELETE FROM link_history WHERE workspace_id = $1 AND pos = ANY ($2::bigint[])

-- name: redact_documents
-- Documents of redacted claims; an object keeps its own, made anew from the names that are left.
DELETE FROM search_documents
WHERE workspace_id = $1 AND doc_pos = ANY ($2::bigint[]) AND property IS NOT NULL

-- name: redact_answers
-- Kept answers that quote a redacted value, or show an object whose name was redacted: the words go.
UPDATE idempotency_keys k
SET answer = '{"outcome":"redacted","note":"The answer quoted what was redacted since."}',
    quotes = NULL
WHERE k.workspace_id = $1
    AND (
        k.quotes && $2::bigint[]
        OR EXISTS (
            SELECT FROM object_events e
            WHERE e.workspace_id = $1
                AND e.pos = ANY ($2::bigint[])
                AND e.kind IN ('object_created', 'object_renamed')
                AND position(e.object_id::text IN k.answer) > 0))

-- name: empty_payloads
-- Empty the payloads that a redaction names.
SELECT empty_redacted_payloads($1, $2)

-- name: put_principals
-- Principals as they are now.
INSERT INTO principals (
    workspace_id, principal_id, name, role, audiences, owned_sources, default_audience, version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (workspace_id, principal_id) DO UPDATE SET
    audiences = excluded.audiences,
    owned_sources = excluded.owned_sources,
    default_audience = excluded.default_audience,
    version = excluded.version

-- name: put_credential
-- A token that was issued.
INSERT INTO credentials (
    workspace_id, token_id, principal_id, token_hash, issued_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: revoke_credential
-- A token that is void from now on.
UPDATE credentials SET revoked_at = $3
WHERE workspace_id = $1 AND token_id = $2 AND revoked_at IS NULL

-- name: put_type
-- A type that the operator added.
INSERT INTO catalog_types (workspace_id, name, description, added_pos)
VALUES ($1, $2, 'Added by the operator.', $3)
ON CONFLICT DO NOTHING
