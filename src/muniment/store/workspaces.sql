-- name: find
-- One workspace by name.
SELECT workspace_id, name, genesis, secret FROM workspaces WHERE name = $1

-- name: get
-- One workspace by id.
SELECT workspace_id, name, genesis, secret FROM workspaces WHERE workspace_id = $1

-- name: all
-- All workspaces, for the operator of the installation.
SELECT workspace_id, name, genesis, secret FROM workspaces ORDER BY name

-- name: make
-- A workspace, unless one of that name exists; a process that makes it at the same time waits.
INSERT INTO workspaces (workspace_id, name, genesis, secret)
VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO NOTHING

-- name: make_head
-- The head of an empty log.
INSERT INTO log_head (workspace_id, pos, hash) VALUES ($1, 0, $2)

-- name: put_types
-- Keep the built-in types as the code has them.
INSERT INTO catalog_types (workspace_id, name, description)
SELECT $1, t.name, t.description FROM unnest($2::text[], $3::text[]) AS t (name, description)
ON CONFLICT (workspace_id, name) DO UPDATE SET description = excluded.description
WHERE catalog_types.description <> excluded.description
