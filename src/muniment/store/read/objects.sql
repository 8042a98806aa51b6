-- name: by_id
-- The object of an id, of any status, with the object that answers for it.
SELECT
    o.object_id, o.type, o.name, o.status, o.merged_into, o.head_id, o.audience, o.created_by,
    o.created_pos, o.version,
    h.type AS head_type, h.name AS head_name, h.status AS head_status
FROM named_objects($1, $2, $3) o
CROSS JOIN LATERAL (
    SELECT n.type, n.name, n.status FROM named_objects($1, $2, $3) n
    WHERE n.object_id = o.head_id
    OFFSET 0
) h
WHERE o.object_id = $4

-- name: by_name
-- The objects that a name leads to, of any status, each with the object that answers for it.
SELECT
    o.object_id, o.type, o.name, o.status, o.merged_into, o.head_id, o.audience, o.created_by,
    o.created_pos, o.version,
    h.type AS head_type, h.name AS head_name, h.status AS head_status
FROM named_aliases($1, $2, $3) a
CROSS JOIN LATERAL (
    SELECT n.* FROM named_objects($1, $2, $3) n WHERE n.object_id = a.object_id OFFSET 0
) o
CROSS JOIN LATERAL (
    SELECT n.type, n.name, n.status FROM named_objects($1, $2, $3) n
    WHERE n.object_id = o.head_id
    OFFSET 0
) h
WHERE a.canonical = $4 AND ($5::text IS NULL OR a.type = $5)
ORDER BY a.is_current DESC, a.pos

-- name: group_of
-- An object with all that is merged into it, directly or not; the object itself first.
SELECT o.object_id, o.type, o.name, o.merged_into
FROM named_objects($1, $2, $3) o
WHERE o.object_id = $4
UNION ALL
(
    SELECT o.object_id, o.type, o.name, o.merged_into
    FROM named_objects($1, $2, $3) o
    WHERE o.head_id = $4 AND o.head_id <> o.object_id
    ORDER BY o.created_pos
)

-- name: names_of
-- Every name that leads to one of a group of objects.
SELECT a.object_id, a.name, a.is_current
FROM unnest($4::uuid[]) AS member (object_id)
CROSS JOIN LATERAL (
    SELECT * FROM named_aliases($1, $2, $3) n WHERE n.object_id = member.object_id OFFSET 0
) a
ORDER BY array_position($4::uuid[], a.object_id), a.is_current DESC, a.pos, a.canonical
LIMIT $5

-- name: list_objects
-- Objects of a type and status by id, each with when anything was last observed about it.
SELECT o.object_id, o.type, o.name, o.status, o.audience, seen.last_observed, seen.claims
FROM named_objects($1, $2, $3) o
CROSS JOIN LATERAL (
    SELECT max(c.last_observed) AS last_observed, count(*) AS claims
    FROM named_assertions($1, $2, $3, NULL) c
    WHERE c.head_id = o.object_id AND in_force(c.valid_since, c.valid_until, NULL)
    OFFSET 0
) seen
WHERE o.status = $4
    AND ($5::text IS NULL OR o.type = $5)
    AND ($6::timestamptz IS NULL OR seen.last_observed IS NULL OR seen.last_observed < $6)
    AND ($7::uuid IS NULL OR o.object_id > $7)
ORDER BY o.object_id
LIMIT $8

-- name: count_objects
-- How many objects of each type and status the reader may know of.
SELECT o.type, o.status, count(*) AS objects
FROM named_objects($1, $2, $3) o
GROUP BY o.type, o.status
ORDER BY o.type, o.status

-- name: pos_at
-- The last pos that was in the log at a moment.
SELECT pos_at($1, $2)
