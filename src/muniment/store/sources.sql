-- name: claims
-- What a source claims today of the objects of one type, for some properties.
SELECT o.name, a.property, a.value
FROM named_objects($1, $2, $3) o
JOIN named_assertions($1, $2, $3, NULL) a ON a.object_id = o.object_id
WHERE o.type = $4 AND a.source = $5 AND a.property = ANY ($6::text[])
ORDER BY o.object_id, a.property, a.pos

-- name: claim_slots
-- Where the claims of a source stand, on objects of some types that take part.
SELECT o.object_id, o.name, a.property, a.evidence
FROM visible_objects($1, $2, $3) o
JOIN named_assertions($1, $2, $3, NULL) a ON a.object_id = o.object_id
WHERE o.type = ANY ($4::text[]) AND a.source = $5
ORDER BY a.pos

-- name: link_slots
-- Where the links of a source stand, from objects of some types that take part.
SELECT o.object_id, o.name, l.type, l.dst_id, l.evidence
FROM visible_objects($1, $2, $3) o
JOIN visible_links($1, $2, $3, 'infinity') l ON l.src_id = o.object_id
WHERE o.type = ANY ($4::text[]) AND l.source = $5
ORDER BY l.pos
