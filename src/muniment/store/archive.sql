-- name: head
-- Where the log stands, and what its chain starts from.
SELECT w.genesis, h.pos, h.hash
FROM workspaces w
JOIN log_head h ON h.workspace_id = w.workspace_id
WHERE w.workspace_id = $1

-- name: page
-- The next events, as they are stored.
SELECT
    pos,
    event_id,
    kind,
    object_id,
    related_id,
    actor_id,
    via,
    audience,
    receipt_id,
    recorded_at,
    payload,
    payload_hash,
    hash
FROM object_events
WHERE workspace_id = $1 AND pos > $2
ORDER BY pos
LIMIT $3
