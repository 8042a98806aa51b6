-- Rows travel as one JSON array a table, which is the cheapest way to send many narrow columns.
-- Rows that exist are found by `LATERAL (... OFFSET 0)`: it makes the planner go from the few keys of
-- a batch to the index, whatever it believes of tables that were empty a minute ago.

-- name: commit
-- Move the head if it is where it was, and then append events and bring the projections along: all or nothing.
WITH head AS (
    UPDATE log_head
    SET pos = $3, hash = $4
    WHERE workspace_id = $1 AND pos = $2
    RETURNING pos
),
appended AS (
    INSERT INTO object_events (
        workspace_id, pos, event_id, kind, object_id, related_id, actor_id, via, audience,
        payload, payload_hash, hash, recorded_at)
    SELECT $1, e.*, $5
    FROM head, json_to_recordset($6::json)
        AS e (
            pos bigint, event_id uuid, kind text, object_id uuid, related_id uuid, actor_id uuid,
            via text, audience text, payload text, payload_hash bytea, hash bytea)
),
objects_put AS (
    INSERT INTO objects (
        workspace_id, object_id, type, name, canonical, status, merged_into, head_id, audience,
        created_by, created_pos, version, created_at)
    SELECT $1, o.*, $5
    FROM head, json_to_recordset($7::json)
        AS o (
            object_id uuid, type text, name text, canonical text, status text, merged_into uuid,
            head_id uuid, audience text, created_by uuid, created_pos bigint, version bigint)
    ON CONFLICT (workspace_id, object_id) DO UPDATE SET
        name = excluded.name,
        canonical = excluded.canonical,
        status = excluded.status,
        merged_into = excluded.merged_into,
        head_id = excluded.head_id,
        version = excluded.version
),
names_put AS (
    INSERT INTO object_aliases (
        workspace_id, canonical, type, audience, object_id, name, is_current, pos)
    SELECT $1, n.*
    FROM head, json_to_recordset($8::json)
        AS n (
            canonical text, type text, audience text, object_id uuid, name text,
            is_current boolean, pos bigint)
    ON CONFLICT (workspace_id, canonical, type, audience) DO UPDATE SET
        object_id = excluded.object_id,
        name = excluded.name,
        is_current = excluded.is_current,
        pos = excluded.pos
),
claims_archived AS (
    INSERT INTO assertion_history
    SELECT a.*, k.closed_pos, k.closing
    FROM head, json_to_recordset($9::json)
        AS k (object_id uuid, property text, value_key text, source text,
            closed_pos bigint, closing text)
    CROSS JOIN LATERAL (
        SELECT * FROM assertions b
        WHERE b.workspace_id = $1
            AND b.object_id = k.object_id
            AND b.property = k.property
            AND b.value_key = k.value_key
            AND b.source = k.source
        OFFSET 0) a
),
claims_dropped AS (
    DELETE FROM assertions a
    USING (
        SELECT b.ctid AS place
        FROM head, json_to_recordset($10::json)
            AS k (object_id uuid, property text, value_key text, source text)
        CROSS JOIN LATERAL (
            SELECT b.ctid FROM assertions b
            WHERE b.workspace_id = $1
                AND b.object_id = k.object_id
                AND b.property = k.property
                AND b.value_key = k.value_key
                AND b.source = k.source
            OFFSET 0) b) found
    WHERE a.ctid = found.place
),
claims_touched AS (
    UPDATE assertions a
    SET last_observed = $5, times = found.times
    FROM (
        SELECT b.ctid AS place, k.times
        FROM head, json_to_recordset($11::json)
            AS k (object_id uuid, property text, value_key text, source text, times integer)
        CROSS JOIN LATERAL (
            SELECT b.ctid FROM assertions b
            WHERE b.workspace_id = $1
                AND b.object_id = k.object_id
                AND b.property = k.property
                AND b.value_key = k.value_key
                AND b.source = k.source
            OFFSET 0) b) found
    WHERE a.ctid = found.place
),
claims_put AS (
    INSERT INTO assertions (
        workspace_id, object_id, property, value_key, source, head_id, pos, event_id, value,
        digest, actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to,
        valid_since, valid_until, first_observed, last_observed, times, audience)
    SELECT
        $1, c.object_id, c.property, c.value_key, c.source, c.head_id, c.pos, c.event_id,
        c.value, c.digest, c.actor_id, c.class, c.rule, c.band, c.root, c.evidence,
        c.derived_from, c.valid_from, c.valid_to, coalesce(c.valid_since, $5), c.valid_until, $5,
        $5, c.times, c.audience
    FROM head, json_to_recordset($12::json)
        AS c (
            object_id uuid, property text, value_key text, source text, head_id uuid, pos bigint,
            event_id uuid, value text, digest bytea, actor_id uuid, class text, rule text,
            band smallint, root text, evidence text, derived_from uuid[], valid_from text,
            valid_to text, valid_since timestamptz, valid_until timestamptz, times integer,
            audience text)
    ON CONFLICT (workspace_id, object_id, property, value_key, source) DO UPDATE SET
        head_id = excluded.head_id,
        pos = excluded.pos,
        event_id = excluded.event_id,
        value = excluded.value,
        digest = excluded.digest,
        actor_id = excluded.actor_id,
        class = excluded.class,
        rule = excluded.rule,
        band = excluded.band,
        root = excluded.root,
        evidence = excluded.evidence,
        derived_from = excluded.derived_from,
        valid_from = excluded.valid_from,
        valid_to = excluded.valid_to,
        valid_since = excluded.valid_since,
        valid_until = excluded.valid_until,
        first_observed = excluded.first_observed,
        last_observed = excluded.last_observed,
        times = excluded.times,
        audience = excluded.audience
),
documents_closed AS (
    UPDATE search_documents d
    SET closed_pos = found.closed_pos
    FROM (
        SELECT b.ctid AS place, k.closed_pos
        FROM head, json_to_recordset($13::json) AS k (doc_pos bigint, closed_pos bigint)
        CROSS JOIN LATERAL (
            SELECT b.ctid FROM search_documents b
            WHERE b.workspace_id = $1 AND b.doc_pos = k.doc_pos
            OFFSET 0) b) found
    WHERE d.ctid = found.place
),
documents_put AS (
    INSERT INTO search_documents (
        workspace_id, active, doc_pos, object_id, head_id, type, property, audience,
        head_audience, closed_pos, valid_since, valid_until, length, tokenizer, tsv)
    SELECT
        $1, true, d.doc_pos, d.object_id, d.head_id, d.type, d.property, d.audience,
        d.head_audience, d.closed_pos, coalesce(d.valid_since, $5), d.valid_until, d.length,
        d.tokenizer, d.tsv
    FROM head, json_to_recordset($14::json)
        AS d (
            doc_pos bigint, object_id uuid, head_id uuid, type text, property text,
            audience text, head_audience text, closed_pos bigint, valid_since timestamptz,
            valid_until timestamptz, length integer, tokenizer smallint, tsv tsvector)
),
retries AS (
    INSERT INTO idempotency_keys (
        workspace_id, principal_id, key, request_digest, answer, quotes, recorded_at)
    SELECT $1, k.*, $5
    FROM head, json_to_recordset($15::json)
        AS k (
            principal_id uuid, key text, request_digest bytea, answer text, quotes bigint[])
    ON CONFLICT DO NOTHING
)
SELECT pos FROM head

-- name: links
-- The same for links, in the transaction of `commit`.
WITH links_archived AS (
    INSERT INTO link_history
    SELECT a.*, k.closed_pos, k.closing
    FROM json_to_recordset($3::json)
        AS k (src_id uuid, type text, dst_id uuid, source text,
            closed_pos bigint, closing text)
    CROSS JOIN LATERAL (
        SELECT * FROM links b
        WHERE b.workspace_id = $1
            AND b.src_id = k.src_id
            AND b.type = k.type
            AND b.dst_id = k.dst_id
            AND b.source = k.source
        OFFSET 0) a
),
links_dropped AS (
    DELETE FROM links a
    USING (
        SELECT b.ctid AS place
        FROM json_to_recordset($4::json)
            AS k (src_id uuid, type text, dst_id uuid, source text)
        CROSS JOIN LATERAL (
            SELECT b.ctid FROM links b
            WHERE b.workspace_id = $1
                AND b.src_id = k.src_id
                AND b.type = k.type
                AND b.dst_id = k.dst_id
                AND b.source = k.source
            OFFSET 0) b) found
    WHERE a.ctid = found.place
),
links_touched AS (
    UPDATE links a
    SET last_observed = $2, times = found.times
    FROM (
        SELECT b.ctid AS place, k.times
        FROM json_to_recordset($5::json)
            AS k (src_id uuid, type text, dst_id uuid, source text, times integer)
        CROSS JOIN LATERAL (
            SELECT b.ctid FROM links b
            WHERE b.workspace_id = $1
                AND b.src_id = k.src_id
                AND b.type = k.type
                AND b.dst_id = k.dst_id
                AND b.source = k.source
            OFFSET 0) b) found
    WHERE a.ctid = found.place
)
INSERT INTO links (
    workspace_id, src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id,
    actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to, valid_since,
    valid_until, first_observed, last_observed, times, audience)
SELECT
    $1, c.src_id, c.type, c.dst_id, c.source, c.src_head_id, c.dst_head_id, c.pos, c.event_id,
    c.actor_id, c.class, c.rule, c.band, c.root, c.evidence, c.derived_from, c.valid_from,
    c.valid_to, coalesce(c.valid_since, $2), c.valid_until, $2, $2, c.times, c.audience
FROM json_to_recordset($6::json)
    AS c (
        src_id uuid, type text, dst_id uuid, source text, src_head_id uuid, dst_head_id uuid,
        pos bigint, event_id uuid, actor_id uuid, class text, rule text, band smallint,
        root text, evidence text, derived_from uuid[], valid_from text, valid_to text,
        valid_since timestamptz, valid_until timestamptz, times integer, audience text)
ON CONFLICT (workspace_id, src_id, type, dst_id, source) DO UPDATE SET
    src_head_id = excluded.src_head_id,
    dst_head_id = excluded.dst_head_id,
    pos = excluded.pos,
    event_id = excluded.event_id,
    actor_id = excluded.actor_id,
    class = excluded.class,
    rule = excluded.rule,
    band = excluded.band,
    root = excluded.root,
    evidence = excluded.evidence,
    derived_from = excluded.derived_from,
    valid_from = excluded.valid_from,
    valid_to = excluded.valid_to,
    valid_since = excluded.valid_since,
    valid_until = excluded.valid_until,
    first_observed = excluded.first_observed,
    last_observed = excluded.last_observed,
    times = excluded.times,
    audience = excluded.audience

-- name: claims_closed
-- Claims that one batch both made and closed.
INSERT INTO assertion_history (
    workspace_id, object_id, property, value_key, source, head_id, pos, event_id, value, digest,
    actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to, valid_since,
    valid_until, first_observed, last_observed, times, audience, closed_pos, closing)
SELECT
    $1, c.object_id, c.property, c.value_key, c.source, c.head_id, c.pos, c.event_id, c.value,
    c.digest, c.actor_id, c.class, c.rule, c.band, c.root, c.evidence, c.derived_from,
    c.valid_from, c.valid_to, coalesce(c.valid_since, $2), c.valid_until, $2, $2, c.times,
    c.audience, c.closed_pos, c.closing
FROM json_to_recordset($3::json)
    AS c (
        object_id uuid, property text, value_key text, source text, head_id uuid, pos bigint,
        event_id uuid, value text, digest bytea, actor_id uuid, class text, rule text,
        band smallint, root text, evidence text, derived_from uuid[], valid_from text,
        valid_to text, valid_since timestamptz, valid_until timestamptz, times integer,
        audience text, closed_pos bigint, closing text)

-- name: links_closed
-- Links that one batch both made and closed.
INSERT INTO link_history (
    workspace_id, src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id,
    actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to, valid_since,
    valid_until, first_observed, last_observed, times, audience, closed_pos, closing)
SELECT
    $1, c.src_id, c.type, c.dst_id, c.source, c.src_head_id, c.dst_head_id, c.pos, c.event_id,
    c.actor_id, c.class, c.rule, c.band, c.root, c.evidence, c.derived_from, c.valid_from,
    c.valid_to, coalesce(c.valid_since, $2), c.valid_until, $2, $2, c.times, c.audience,
    c.closed_pos, c.closing
FROM json_to_recordset($3::json)
    AS c (
        src_id uuid, type text, dst_id uuid, source text, src_head_id uuid, dst_head_id uuid,
        pos bigint, event_id uuid, actor_id uuid, class text, rule text, band smallint,
        root text, evidence text, derived_from uuid[], valid_from text, valid_to text,
        valid_since timestamptz, valid_until timestamptz, times integer, audience text,
        closed_pos bigint, closing text)
