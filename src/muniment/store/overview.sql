-- name: counts
-- How many events and active objects a workspace has.
SELECT
    h.pos AS events,
    (SELECT count(*) FROM objects o WHERE o.workspace_id = $1 AND o.status = 'active') AS objects
FROM log_head h
WHERE h.workspace_id = $1

-- name: server
-- The server's version, clock and locale as this database has them.
SELECT
    current_setting('server_version') AS version,
    current_setting('server_version_num')::int AS version_number,
    clock_timestamp() AS clock,
    (SELECT datcollate FROM pg_database WHERE datname = current_database()) AS locale,
    similarity('日本語', '日本語') AS own_similarity,
    pg_database_size(current_database()) AS bytes

-- name: grants
-- What each of our roles may do to the log, one row per role and verb.
SELECT
    r.rolname AS role,
    v.verb AS verb,
    has_table_privilege(r.oid, 'object_events', v.verb) AS granted
FROM pg_roles r
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS v (verb)
WHERE r.rolname IN ('muniment_writer', 'muniment_reader')
ORDER BY r.rolname, v.verb

-- name: guards
-- The triggers on the log that hold in every replication role.
SELECT count(*) AS guards
FROM pg_trigger
WHERE tgrelid = 'object_events'::regclass AND tgenabled = 'A' AND NOT tgisinternal

-- name: types
-- The types of a workspace by name, an added one as its newest description says.
SELECT
    t.name,
    coalesce(
        (SELECT a.value::jsonb #>> '{}'
         FROM objects o
         JOIN assertions a ON a.workspace_id = o.workspace_id AND a.object_id = o.object_id
         WHERE o.workspace_id = t.workspace_id AND o.type = 'Type' AND o.name = t.name
             AND a.property = 'description'
         ORDER BY a.pos DESC
         LIMIT 1),
        t.description) AS description,
    t.added_pos IS NOT NULL AS added
FROM catalog_types t
WHERE t.workspace_id = $1
ORDER BY t.name
