-- name: claims
-- Claims of a group of objects, in force, as known now or at a pos; by property, value and pos.
SELECT
    c.object_id, c.property, c.value_key, c.source, c.pos, c.event_id,
    left(c.value, $10) AS value,
    octet_length(c.value) AS value_bytes,
    c.digest, c.class AS evidence_class, c.band, c.root, c.evidence, c.derived_from,
    c.valid_from, c.valid_to, c.first_observed, c.last_observed, c.times, c.audience,
    c.closed_pos, c.closing
FROM named_assertions($1, $2, $3, $4) c
WHERE c.object_id = ANY ($5::uuid[])
    AND in_force(c.valid_since, c.valid_until, $6)
    AND ($7::text IS NULL OR (c.property, c.value_key, c.pos) > ($7, $8, $9))
ORDER BY c.property, c.value_key, c.pos
LIMIT $11

-- name: out_of_force
-- How many further claims of the group do not hold at that moment.
SELECT count(*)
FROM named_assertions($1, $2, $3, $4) c
WHERE c.object_id = ANY ($5::uuid[]) AND NOT in_force(c.valid_since, c.valid_until, $6)

-- name: versions
-- Each version of one property of a group, oldest first, with the event that closed it.
SELECT
    c.object_id, c.property, c.value_key, c.source, c.pos, c.event_id,
    left(c.value, $7) AS value,
    octet_length(c.value) AS value_bytes,
    c.digest, c.class AS evidence_class, c.band, c.root, c.evidence, c.derived_from,
    c.valid_from, c.valid_to, c.first_observed, c.last_observed, c.times, c.audience,
    c.closed_pos, c.closing,
    e.event_id AS closed_by,
    e.recorded_at AS closed_at,
    e.payload::jsonb ->> 'reason' AS closed_why,
    e.actor_id AS closed_actor_id,
    principal_name($1, e.actor_id) AS closed_actor
FROM unnest($4::uuid[]) AS member (object_id)
CROSS JOIN LATERAL (
    SELECT * FROM named_claims($1, $2, $3) k
    WHERE k.object_id = member.object_id AND k.property = $5 AND k.pos > $6
    OFFSET 0
) c
LEFT JOIN LATERAL (
    SELECT v.event_id, v.recorded_at, v.payload, v.actor_id
    FROM named_events($1, $2, $3) v
    WHERE v.pos = c.closed_pos
    OFFSET 0
) e ON true
ORDER BY c.pos
LIMIT $8

-- name: links_from
-- Links that lead out of objects, some of each type, to what takes part today.
SELECT
    'out' AS direction,
    found.*
FROM unnest($5::text[], $6::uuid[], $7::bigint[]) AS slot (type, after_id, after_pos)
CROSS JOIN unnest($8::uuid[]) AS head (object_id)
CROSS JOIN LATERAL (
    SELECT
        l.type AS link, o.object_id, o.type, o.name, l.src_id AS near_id, l.dst_id AS far_id,
        l.source, l.pos, l.event_id, l.class AS evidence_class, l.band, l.root, l.evidence,
        l.valid_from, l.valid_to, l.first_observed, l.last_observed, l.times
    FROM named_links($1, $2, $3, $4) l
    CROSS JOIN LATERAL (
        SELECT v.object_id, v.type, v.name FROM visible_objects($1, $2, $3) v
        WHERE v.object_id = l.dst_head_id
        OFFSET 0
    ) o
    WHERE l.src_head_id = head.object_id
        AND l.type = slot.type
        AND in_force(l.valid_since, l.valid_until, $9)
        AND ($10::uuid[] IS NULL OR l.src_id = ANY ($10))
        AND (slot.after_id IS NULL OR (l.dst_head_id, l.pos) > (slot.after_id, slot.after_pos))
    ORDER BY l.dst_head_id, l.pos
    LIMIT $11
) found
ORDER BY found.link, found.object_id, found.pos

-- name: links_to
-- Links that lead into objects, some of each type, from what takes part today.
SELECT
    'in' AS direction,
    found.*
FROM unnest($5::text[], $6::uuid[], $7::bigint[]) AS slot (type, after_id, after_pos)
CROSS JOIN unnest($8::uuid[]) AS head (object_id)
CROSS JOIN LATERAL (
    SELECT
        l.type AS link, o.object_id, o.type, o.name, l.dst_id AS near_id, l.src_id AS far_id,
        l.source, l.pos, l.event_id, l.class AS evidence_class, l.band, l.root, l.evidence,
        l.valid_from, l.valid_to, l.first_observed, l.last_observed, l.times
    FROM named_links($1, $2, $3, $4) l
    CROSS JOIN LATERAL (
        SELECT v.object_id, v.type, v.name FROM visible_objects($1, $2, $3) v
        WHERE v.object_id = l.src_head_id
        OFFSET 0
    ) o
    WHERE l.dst_head_id = head.object_id
        AND l.type = slot.type
        AND in_force(l.valid_since, l.valid_until, $9)
        AND ($10::uuid[] IS NULL OR l.dst_id = ANY ($10))
        AND (slot.after_id IS NULL OR (l.src_head_id, l.pos) > (slot.after_id, slot.after_pos))
    ORDER BY l.src_head_id, l.pos
    LIMIT $11
) found
ORDER BY found.link, found.object_id, found.pos
