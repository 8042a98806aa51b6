-- name: objects
-- Objects by id.
SELECT
    object_id, type, name, canonical, status, merged_into, head_id, audience, created_by, created_at,
    created_pos, version
FROM objects
WHERE workspace_id = $1
ORDER BY object_id

-- name: object_aliases
-- Names by their key.
SELECT
    canonical, type, audience, object_id, name, is_current, pos
FROM object_aliases
WHERE workspace_id = $1
ORDER BY canonical COLLATE "C", type COLLATE "C", audience COLLATE "C"

-- name: assertions
-- Current claims by their key.
SELECT
    object_id, property, value_key, source, head_id, pos, event_id, value, digest, actor_id,
    class, rule, band, root, evidence, derived_from::text, valid_from, valid_to, valid_since,
    valid_until, first_observed, last_observed, times, audience
FROM assertions
WHERE workspace_id = $1
ORDER BY object_id, property COLLATE "C", value_key COLLATE "C", source COLLATE "C"

-- name: assertion_history
-- Claims that are no longer current, by pos.
SELECT
    object_id, property, value_key, source, head_id, pos, event_id, value, digest, actor_id,
    class, rule, band, root, evidence, derived_from::text, valid_from, valid_to, valid_since,
    valid_until, first_observed, last_observed, times, audience, closed_pos, closing
FROM assertion_history
WHERE workspace_id = $1
ORDER BY pos

-- name: links
-- Current links by their key.
SELECT
    src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id, actor_id, class,
    rule, band, root, evidence, derived_from::text, valid_from, valid_to, valid_since,
    valid_until, first_observed, last_observed, times, audience
FROM links
WHERE workspace_id = $1
ORDER BY src_id, type COLLATE "C", dst_id, source COLLATE "C"

-- name: link_history
-- Links that are no longer current, by pos.
SELECT
    src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id, actor_id, class,
    rule, band, root, evidence, derived_from::text, valid_from, valid_to, valid_since,
    valid_until, first_observed, last_observed, times, audience, closed_pos, closing
FROM link_history
WHERE workspace_id = $1
ORDER BY pos

-- name: principals
-- Principals by id.
SELECT
    principal_id, name, role, audiences::text, owned_sources::text, default_audience, version
FROM principals
WHERE workspace_id = $1
ORDER BY principal_id

-- name: catalog_types
-- Types that the operator added, by name.
SELECT
    name, added_pos
FROM catalog_types
WHERE workspace_id = $1 AND added_pos IS NOT NULL
ORDER BY name COLLATE "C"

-- name: search_documents
-- Search documents by pos.
SELECT
    doc_pos, object_id, head_id, type, property, audience, head_audience, active, closed_pos,
    valid_since, valid_until, length, tokenizer, tsv::text
FROM search_documents
WHERE workspace_id = $1
ORDER BY doc_pos

-- name: differing_documents
-- Documents that do not hold the lexemes that the tokenizer gives today.
SELECT k.doc_pos
FROM unnest($2::bigint[], $3::text[]) AS k (doc_pos, tsv)
JOIN search_documents d ON d.workspace_id = $1 AND d.doc_pos = k.doc_pos
WHERE d.tsv <> k.tsv::tsvector
