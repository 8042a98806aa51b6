-- name: objects
-- The head with the clock, the objects that a batch names with their merged groups and names, and the retries.
WITH named AS (
    SELECT a.object_id
    FROM object_aliases a
    WHERE a.workspace_id = $1
      AND a.canonical = ANY ($3::text[])
      AND ($5::boolean OR a.audience = ANY ($4::text[]))
    UNION
    SELECT unnest($2::uuid[])
),
heads AS (
    SELECT DISTINCT o.head_id
    FROM named n
    CROSS JOIN LATERAL (
        SELECT b.head_id FROM objects b
        WHERE b.workspace_id = $1 AND b.object_id = n.object_id
        OFFSET 0) o
),
found AS (
    SELECT o.* FROM heads h
    CROSS JOIN LATERAL (
        SELECT * FROM objects b
        WHERE b.workspace_id = $1 AND b.object_id = h.head_id
        OFFSET 0) o
    UNION ALL
    SELECT o.* FROM heads h
    CROSS JOIN LATERAL (
        SELECT * FROM objects b
        WHERE b.workspace_id = $1 AND b.head_id = h.head_id AND b.head_id <> b.object_id
        OFFSET 0) o
)
SELECT
    'head' AS tag,
    NULL::uuid AS id,
    NULL::uuid AS other,
    NULL::uuid AS head,
    NULL::uuid AS maker,
    NULL::text AS a,
    NULL::text AS b,
    NULL::text AS c,
    NULL::text AS d,
    NULL::text AS e,
    l.pos AS n,
    NULL::bigint AS m,
    NULL::boolean AS flag,
    l.hash AS bytes,
    clock_timestamp() AS moment
FROM log_head l
WHERE l.workspace_id = $1
UNION ALL
SELECT
    'object', o.object_id, o.merged_into, o.head_id, o.created_by, o.type, o.name, o.canonical,
    o.status, o.audience, o.created_pos, o.version, NULL, NULL, o.created_at
FROM found o
UNION ALL
SELECT
    'reason', o.object_id, NULL, NULL, NULL, e.payload::jsonb ->> 'reason', NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM found o
CROSS JOIN LATERAL (
    SELECT b.payload FROM object_events b
    WHERE b.workspace_id = $1 AND b.pos = o.version
    OFFSET 0) e
WHERE o.status NOT IN ('active', 'merged')
UNION ALL
SELECT
    'merge', o.object_id, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, e.pos, NULL, NULL, NULL, NULL
FROM found o
CROSS JOIN LATERAL (
    SELECT b.pos FROM object_events b
    WHERE b.object_id = o.object_id AND b.workspace_id = $1 AND b.kind = 'merged'
    ORDER BY b.pos DESC
    LIMIT 1) e
WHERE o.status = 'merged'
UNION ALL
SELECT
    'name', a.object_id, NULL, NULL, NULL, a.canonical, a.type, a.audience,
    a.name, NULL, a.pos, NULL, a.is_current, NULL, NULL
FROM found o
CROSS JOIN LATERAL (
    SELECT * FROM object_aliases b
    WHERE b.workspace_id = $1 AND b.object_id = o.object_id
    OFFSET 0) a
WHERE $8::boolean
UNION ALL
SELECT
    'name', a.object_id, NULL, NULL, NULL, a.canonical, a.type, a.audience,
    a.name, NULL, a.pos, NULL, a.is_current, NULL, NULL
FROM object_aliases a
WHERE NOT $8::boolean
    AND a.workspace_id = $1
    AND a.canonical = ANY ($3::text[])
    AND ($5::boolean OR a.audience = ANY ($4::text[]))
UNION ALL
SELECT
    'retry', k.principal_id, NULL, NULL, NULL, k.key, k.answer, NULL,
    NULL, NULL, NULL, NULL, NULL, k.request_digest, NULL
FROM unnest($6::uuid[], $7::text[]) AS w (principal_id, key)
CROSS JOIN LATERAL (
    SELECT * FROM idempotency_keys b
    WHERE b.workspace_id = $1 AND b.principal_id = w.principal_id AND b.key = w.key
    OFFSET 0) k

-- name: claims
-- Current claims of the slots that a batch touches, in whole merged groups; long values by digest alone.
SELECT
    a.object_id,
    a.property,
    a.source,
    a.value_key,
    CASE WHEN octet_length(a.value) <= 2000 THEN a.value END AS value,
    a.digest,
    a.pos,
    a.event_id,
    a.actor_id,
    a.class,
    a.rule,
    a.band,
    a.root,
    a.evidence,
    a.derived_from,
    a.valid_from,
    a.valid_to,
    a.first_observed,
    a.last_observed,
    a.times,
    a.audience
FROM unnest($2::uuid[], $3::text[], $4::text[]) AS w (head_id, property, value_key)
CROSS JOIN LATERAL (
    SELECT * FROM assertions b
    WHERE b.workspace_id = $1
        AND b.head_id = w.head_id
        AND b.property = w.property
        AND b.value_key = w.value_key
    OFFSET 0) a

-- name: links
-- Current links of a type between the merged groups that a batch touches.
SELECT
    l.src_id,
    l.type,
    l.dst_id,
    l.source,
    l.pos,
    l.event_id,
    l.actor_id,
    l.class,
    l.rule,
    l.band,
    l.root,
    l.evidence,
    l.derived_from,
    l.valid_from,
    l.valid_to,
    l.first_observed,
    l.last_observed,
    l.times,
    l.audience
FROM unnest($2::uuid[], $3::text[], $4::uuid[]) AS w (src_id, type, dst_id)
CROSS JOIN LATERAL (
    SELECT * FROM links b
    WHERE b.workspace_id = $1
        AND b.src_head_id = w.src_id
        AND b.type = w.type
        AND b.dst_head_id = w.dst_id
    OFFSET 0) l

-- name: parents
-- The bands and audiences of claims and links that others are to be derived from.
SELECT a.event_id, a.band, ARRAY[a.audience, o.audience, h.audience] AS audiences
FROM unnest($2::uuid[]) AS w (event_id)
CROSS JOIN LATERAL (
    SELECT * FROM assertions b
    WHERE b.workspace_id = $1 AND b.event_id = w.event_id
    OFFSET 0) a
CROSS JOIN LATERAL (
    SELECT b.audience, b.head_id FROM objects b
    WHERE b.workspace_id = $1 AND b.object_id = a.object_id
    OFFSET 0) o
CROSS JOIN LATERAL (
    SELECT b.audience FROM objects b
    WHERE b.workspace_id = $1 AND b.object_id = o.head_id
    OFFSET 0) h
UNION ALL
SELECT a.event_id, a.band, ARRAY[a.audience, o.audience, h.audience]
FROM unnest($2::uuid[]) AS w (event_id)
CROSS JOIN LATERAL (
    SELECT * FROM assertion_history b
    WHERE b.workspace_id = $1 AND b.event_id = w.event_id
    OFFSET 0) a
CROSS JOIN LATERAL (
    SELECT b.audience, b.head_id FROM objects b
    WHERE b.workspace_id = $1 AND b.object_id = a.object_id
    OFFSET 0) o
CROSS JOIN LATERAL (
    SELECT b.audience FROM objects b
    WHERE b.workspace_id = $1 AND b.object_id = o.head_id
    OFFSET 0) h

-- name: logged
-- Events that are to be redacted; where one gave a name, with all that gave its object a name.
SELECT e.pos, e.kind, e.object_id, e.related_id, e.audience, e.payload
FROM object_events e
WHERE e.workspace_id = $1 AND e.pos = ANY ($2::bigint[])
UNION
SELECT g.pos, g.kind, g.object_id, g.related_id, g.audience, g.payload
FROM object_events e
JOIN object_events g
    ON g.workspace_id = $1
    AND g.object_id = e.object_id
    AND g.kind IN ('object_created', 'object_renamed')
WHERE e.workspace_id = $1
    AND e.pos = ANY ($2::bigint[])
    AND e.kind IN ('object_created', 'object_renamed')

-- name: claims_at
-- Current claims that certain events made.
SELECT
    a.object_id,
    a.property,
    a.source,
    a.value_key,
    NULL::text AS value,
    a.digest,
    a.pos,
    a.event_id,
    a.actor_id,
    a.class,
    a.rule,
    a.band,
    a.root,
    a.evidence,
    a.derived_from,
    a.valid_from,
    a.valid_to,
    a.first_observed,
    a.last_observed,
    a.times,
    a.audience
FROM assertions a
WHERE a.workspace_id = $1 AND a.pos = ANY ($2::bigint[])

-- name: links_at
-- Current links that certain events made.
SELECT
    l.src_id,
    l.type,
    l.dst_id,
    l.source,
    l.pos,
    l.event_id,
    l.actor_id,
    l.class,
    l.rule,
    l.band,
    l.root,
    l.evidence,
    l.derived_from,
    l.valid_from,
    l.valid_to,
    l.first_observed,
    l.last_observed,
    l.times,
    l.audience
FROM links l
WHERE l.workspace_id = $1 AND l.pos = ANY ($2::bigint[])

-- name: principals
-- All principals.
SELECT principal_id, name, role, audiences, owned_sources, default_audience, version
FROM principals
WHERE workspace_id = $1

-- name: live_tokens
-- Tokens that are not revoked.
SELECT token_id, principal_id FROM credentials WHERE workspace_id = $1 AND revoked_at IS NULL

-- name: types
-- Types that the operator added.
SELECT name, added_pos FROM catalog_types WHERE workspace_id = $1 AND added_pos IS NOT NULL

-- name: lock_head
-- Hold the head until the transaction ends.
SELECT pos FROM log_head WHERE workspace_id = $1 FOR UPDATE

-- name: hash_at
-- The hash of the event at a position.
SELECT hash FROM object_events WHERE workspace_id = $1 AND pos = $2
