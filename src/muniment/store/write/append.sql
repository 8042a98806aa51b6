-- name: insert_events
-- Events of an archive, as they are.
INSERT INTO object_events (
    workspace_id, pos, event_id, kind, object_id, related_id, actor_id, via, audience, receipt_id,
    recorded_at, payload, payload_hash, hash)
SELECT $1, e.*
FROM unnest(
    $2::bigint[], $3::uuid[], $4::text[], $5::uuid[], $6::uuid[], $7::uuid[], $8::text[],
    $9::text[], $10::uuid[], $11::timestamptz[], $12::text[], $13::bytea[], $14::bytea[])
    AS e (pos, event_id, kind, object_id, related_id, actor_id, via, audience, receipt_id,
        recorded_at, payload, payload_hash, hash)

-- name: adopt_genesis
-- An empty log takes over what the archive's chain starts from.
UPDATE workspaces SET genesis = $2 WHERE workspace_id = $1

-- name: move_head
-- The head after events that were inserted as they are.
UPDATE log_head SET pos = $2, hash = $3 WHERE workspace_id = $1

-- name: redacted_targets
-- Every position that a redaction names.
SELECT DISTINCT t::bigint AS pos
FROM object_events r
CROSS JOIN jsonb_array_elements_text(r.payload::jsonb -> 'targets') AS t
WHERE r.workspace_id = $1 AND r.kind = 'redacted'

-- name: redactions_after
-- Redactions past a position, and what each names.
SELECT r.pos, ARRAY(
    SELECT t::bigint FROM jsonb_array_elements_text(r.payload::jsonb -> 'targets') AS t) AS targets
FROM object_events r
WHERE r.workspace_id = $1 AND r.kind = 'redacted' AND r.pos > $2
ORDER BY r.pos

-- name: expire_retries
-- Answers to idempotency keys that are older than the retention.
DELETE FROM idempotency_keys
WHERE workspace_id = $1 AND recorded_at < clock_timestamp() - $2::interval
