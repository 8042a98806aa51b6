-- name: lock
-- Wait until no other process migrates; the lock goes with the session.
SELECT pg_advisory_lock(%(lock)s)

-- name: put_property
-- Keep the table of properties as the code has it.
INSERT INTO catalog_properties (name, description, many)
VALUES (%(name)s, %(description)s, %(many)s)
ON CONFLICT (name) DO UPDATE SET description = excluded.description, many = excluded.many

-- name: put_link
-- Keep the table of link types as the code has it.
INSERT INTO catalog_links (name, inverse, description)
VALUES (%(name)s, %(inverse)s, %(description)s)
ON CONFLICT (name) DO UPDATE SET inverse = excluded.inverse, description = excluded.description

-- name: put_rule
-- Keep the table of trust rules as the code has it.
INSERT INTO trust_rules (rule, origin, channel, confirmation, band)
VALUES (%(rule)s, %(origin)s, %(channel)s, %(confirmation)s, %(band)s)
ON CONFLICT (rule) DO UPDATE SET
    origin = excluded.origin,
    channel = excluded.channel,
    confirmation = excluded.confirmation,
    band = excluded.band

-- name: make_partitions
-- Two partitions of the log ahead of the longest one.
SELECT make_log_partitions(coalesce(max(pos), 0) + 20000000) FROM log_head
