-- name: move_claims
-- Claims of objects that another object answers for from now on.
UPDATE assertions a
SET head_id = m.head_id
FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
WHERE a.workspace_id = $1 AND a.object_id = m.object_id AND a.head_id <> m.head_id

-- name: move_closed_claims
-- The same for claims that are no longer current.
UPDATE assertion_history a
SET head_id = m.head_id
FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
WHERE a.workspace_id = $1 AND a.object_id = m.object_id AND a.head_id <> m.head_id

-- name: move_links_from
-- Links that start at such objects.
UPDATE links l
SET src_head_id = m.head_id
FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
WHERE l.workspace_id = $1 AND l.src_id = m.object_id AND l.src_head_id <> m.head_id

-- name: move_links_to
-- Links that end at such objects.
UPDATE links l
SET dst_head_id = m.head_id
FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
WHERE l.workspace_id = $1 AND l.dst_id = m.object_id AND l.dst_head_id <> m.head_id

-- name: move_closed_links_from
-- The same for links that are no longer current.
UPDATE link_history l
SET src_head_id = m.head_id
FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
WHERE l.workspace_id = $1 AND l.src_id = m.object_id AND l.src_head_id <> m.head_id

-- name: move_closed_links_to
-- The same for links that are no longer current.
UPDATE link_history l
SET dst_head_id = m.head_id
FROM unnest($2::uuid[], $3::uuid[]) AS m (object_id, head_id)
WHERE l.workspace_id = $1 AND l.dst_id = m.object_id AND l.dst_head_id <> m.head_id

-- name: move_documents
-- Documents follow the object that answers for them, and leave every route when it does not take part.
UPDATE search_documents d
SET head_id = h.object_id, head_audience = h.audience, active = (h.status = 'active')
FROM objects o
JOIN objects h ON h.workspace_id = o.workspace_id AND h.object_id = o.head_id
WHERE o.workspace_id = $1
    AND (o.object_id = ANY ($2::uuid[]) OR o.head_id = ANY ($2::uuid[]))
    AND d.workspace_id = $1
    AND d.object_id = o.object_id

-- name: drop_names
-- Names that a redaction took.
DELETE FROM object_aliases a
USING unnest($2::text[], $3::text[], $4::text[]) AS k (canonical, type, audience)
WHERE a.workspace_id = $1
    AND a.canonical = k.canonical
    AND a.type = k.type
    AND a.audience = k.audience

-- name: names_of
-- Every name that leads to an object, its present one first.
SELECT a.name, o.created_pos
FROM object_aliases a
JOIN objects o ON o.workspace_id = a.workspace_id AND o.object_id = a.object_id
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
SET tsv = k.tsv::tsvector, length = k.length, tokenizer = k.tokenizer
FROM unnest($2::bigint[], $3::text[], $4::integer[], $5::smallint[])
    AS k (doc_pos, tsv, length, tokenizer)
WHERE d.workspace_id = $1 AND d.doc_pos = k.doc_pos

-- name: touch_closed_claims
-- A claim that one batch saw again and then closed.
UPDATE assertion_history a
SET last_observed = $2, times = k.times
FROM unnest($3::bigint[], $4::integer[]) AS k (pos, times)
WHERE a.workspace_id = $1 AND a.pos = k.pos

-- name: touch_closed_links
-- A link that one batch saw again and then closed.
UPDATE link_history l
SET last_observed = $2, times = k.times
FROM unnest($3::bigint[], $4::integer[]) AS k (pos, times)
WHERE l.workspace_id = $1 AND l.pos = k.pos

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
