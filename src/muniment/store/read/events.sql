-- name: of_objects
-- Events that concern one of a group of objects, in order.
SELECT
    e.pos, e.event_id, e.kind, e.object_id, e.related_id, e.actor_id, e.via, e.audience,
    e.recorded_at, e.payload,
    principal_name($1, e.actor_id) AS actor,
    CASE WHEN e.payload IS NULL THEN redaction_of($1, e.pos) END AS redacted_by,
    o.name AS object_name,
    r.name AS related_name
FROM (
    SELECT DISTINCT ON (found.pos) found.*
    FROM unnest($4::uuid[]) AS member (object_id)
    CROSS JOIN LATERAL (
        (
            SELECT v.* FROM named_events($1, $2, $3) v
            WHERE v.object_id = member.object_id AND v.pos > $5
            ORDER BY v.pos
            LIMIT $6
        )
        UNION ALL
        (
            SELECT v.* FROM named_events($1, $2, $3) v
            WHERE v.related_id = member.object_id AND v.pos > $5
            ORDER BY v.pos
            LIMIT $6
        )
    ) found
    ORDER BY found.pos
    LIMIT $6
) e
CROSS JOIN LATERAL (
    SELECT n.name FROM named_objects($1, $2, $3) n WHERE n.object_id = e.object_id OFFSET 0
) o
LEFT JOIN LATERAL (
    SELECT n.name FROM named_objects($1, $2, $3) n WHERE n.object_id = e.related_id OFFSET 0
) r ON true
ORDER BY e.pos

-- name: of_identity
-- What made, named, merged or moved an object and all it was ever merged with, up to a pos.
WITH RECURSIVE kin (object_id) AS (
    SELECT $4::uuid
    UNION
    SELECT found.object_id
    FROM kin k
    CROSS JOIN LATERAL (
        SELECT v.related_id AS object_id FROM named_events($1, $2, $3) v
        WHERE v.object_id = k.object_id AND v.kind = 'merged'
        UNION ALL
        SELECT v.object_id FROM named_events($1, $2, $3) v
        WHERE v.related_id = k.object_id AND v.kind = 'merged'
    ) found
)
SELECT e.pos, e.event_id, e.kind, e.object_id, e.related_id, e.actor_id, e.via, e.audience,
    e.recorded_at,
    coalesce(e.payload, skeleton_of($1, e.pos)) AS payload
FROM kin k
CROSS JOIN LATERAL (
    SELECT v.* FROM named_events($1, $2, $3) v
    WHERE v.object_id = k.object_id
        AND v.pos <= $5
        AND v.kind IN ('object_created', 'object_renamed', 'status_changed', 'merged', 'unmerged')
    OFFSET 0
) e
ORDER BY e.pos

-- name: why_status
-- The reason of the event that gave an object the status it has.
SELECT v.payload::jsonb ->> 'reason'
FROM named_events($1, $2, $3) v
WHERE v.object_id = $4 AND v.kind IN ('status_changed', 'merged', 'unmerged')
ORDER BY v.pos DESC
LIMIT 1

-- name: after
-- The next events of the whole log, for what follows it.
SELECT e.pos, e.event_id, e.kind, e.object_id, e.related_id, e.actor_id, e.via, e.audience,
    e.recorded_at,
    coalesce(e.payload, skeleton_of($1, e.pos)) AS payload
FROM whole_log($1) e
WHERE e.pos > $2
ORDER BY e.pos
LIMIT $3
