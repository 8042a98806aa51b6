-- name: head
-- Where the log stands, what its chain starts from, and how many events there are.
SELECT
    w.genesis,
    h.pos,
    h.hash,
    (SELECT count(*) FROM object_events e WHERE e.workspace_id = w.workspace_id) AS events,
    (SELECT e.hash FROM object_events e WHERE e.workspace_id = w.workspace_id
     ORDER BY e.pos DESC LIMIT 1) AS last_hash
FROM workspaces w
JOIN log_head h ON h.workspace_id = w.workspace_id
WHERE w.workspace_id = $1

-- name: broken
-- Events that do not continue the chain, from $2 (exclusive) to $3: the check of domain/codec.py, in SQL.
WITH chained AS (
    SELECT
        e.*,
        lag(e.pos) OVER (ORDER BY e.pos) AS previous_pos,
        lag(e.hash) OVER (ORDER BY e.pos) AS previous_hash
    FROM object_events e
    WHERE e.workspace_id = $1 AND e.pos >= $2 AND e.pos <= $3
),
checked AS (
    SELECT
        c.pos,
        coalesce(c.previous_pos, $2) AS previous_pos,
        c.pos <> coalesce(c.previous_pos, 0) + 1 AS out_of_order,
        c.payload_hash <> sha256(convert_to(c.payload, 'UTF8')) AS payload_changed,
        c.payload IS NULL AND NOT EXISTS (
            SELECT FROM object_events r
            WHERE r.workspace_id = $1 AND r.kind = 'redacted' AND r.pos > c.pos
                AND CASE WHEN r.payload IS JSON
                    THEN r.payload::jsonb -> 'targets' @> to_jsonb(c.pos)
                    ELSE false END) AS payload_missing,
        c.hash <> sha256(
            coalesce(c.previous_hash, $4::bytea)
            || convert_to(concat_ws(
                E'\n',
                'muniment-1',
                c.pos,
                c.event_id,
                c.kind,
                coalesce(c.object_id::text, '-'),
                coalesce(c.related_id::text, '-'),
                c.actor_id,
                c.via,
                coalesce(c.audience, '-'),
                coalesce(c.receipt_id::text, '-'),
                (extract(epoch FROM c.recorded_at) * 1000000)::bigint), 'UTF8')
            || c.payload_hash) AS chain_broken
    FROM chained c
    WHERE c.pos > $2
)
SELECT
    pos,
    previous_pos,
    out_of_order,
    coalesce(payload_changed, false) AS payload_changed,
    payload_missing,
    chain_broken
FROM checked
WHERE out_of_order OR payload_changed OR payload_missing OR chain_broken
ORDER BY pos
LIMIT 100

-- name: page
-- The next events, for a fold.
SELECT pos, event_id, kind, object_id, related_id, actor_id, via, audience, recorded_at, payload
FROM object_events
WHERE workspace_id = $1 AND pos > $2 AND pos <= $3
ORDER BY pos
LIMIT $4

-- name: skeletons
-- Redactions, whose skeletons stand in for the payloads that are gone.
SELECT pos, payload
FROM object_events
WHERE workspace_id = $1 AND kind = 'redacted' AND pos <= $2
ORDER BY pos

-- name: allow_minutes
-- Let this transaction take its time.
SELECT
    set_config('statement_timeout', '3600000', true),
    set_config('idle_in_transaction_session_timeout', '0', true)

-- name: hash_at
-- The chain's hash at one position.
SELECT hash FROM object_events WHERE workspace_id = $1 AND pos = $2
