-- Rows are found by `LATERAL (... OFFSET 0)`: it makes the planner go from the few keys of a batch to
-- the index, whatever it believes of tables that were empty a minute ago.

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
        recorded_at, payload, payload_hash, hash)
    SELECT $1, e.pos, e.event_id, e.kind, e.object_id, e.related_id, e.actor_id, e.via,
        e.audience, $5, e.payload, e.payload_hash, e.hash
    FROM head, unnest(
        $6::bigint[], $7::uuid[], $8::text[], $9::uuid[], $10::uuid[], $11::uuid[], $12::text[],
        $13::text[], $14::text[], $15::bytea[], $16::bytea[])
        AS e (pos, event_id, kind, object_id, related_id, actor_id, via, audience, payload,
            payload_hash, hash)
),
objects_put AS (
    INSERT INTO objects (
        workspace_id, object_id, type, name, canonical, status, merged_into, head_id, audience,
        created_by, created_pos, version, created_at)
    SELECT $1, o.*, $5
    FROM head, unnest(
        $17::uuid[], $18::text[], $19::text[], $20::text[], $21::text[], $22::uuid[], $23::uuid[],
        $24::text[], $25::uuid[], $26::bigint[], $27::bigint[])
        AS o (object_id, type, name, canonical, status, merged_into, head_id, audience,
            created_by, created_pos, version)
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
    FROM head, unnest(
        $28::text[], $29::text[], $30::text[], $31::uuid[], $32::text[], $33::boolean[],
        $34::bigint[])
        AS n (canonical, type, audience, object_id, name, is_current, pos)
    ON CONFLICT (workspace_id, canonical, type, audience) DO UPDATE SET
        object_id = excluded.object_id,
        name = excluded.name,
        is_current = excluded.is_current,
        pos = excluded.pos
),
archived AS (
    INSERT INTO assertion_history
    SELECT a.*, k.closed_pos, k.closing
    FROM head, unnest(
        $35::uuid[], $36::text[], $37::text[], $38::text[], $39::bigint[], $40::text[])
        AS k (object_id, property, value_key, source, closed_pos, closing)
    CROSS JOIN LATERAL (
        SELECT * FROM assertions b
        WHERE b.workspace_id = $1
            AND b.object_id = k.object_id
            AND b.property = k.property
            AND b.value_key = k.value_key
            AND b.source = k.source
        OFFSET 0) a
),
dropped AS (
    DELETE FROM assertions a
    USING (
        SELECT b.ctid AS place
        FROM head, unnest($41::uuid[], $42::text[], $43::text[], $44::text[])
            AS k (object_id, property, value_key, source)
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
touched AS (
    UPDATE assertions a
    SET last_observed = $5, times = found.times
    FROM (
        SELECT b.ctid AS place, k.times
        FROM head, unnest($45::uuid[], $46::text[], $47::text[], $48::text[], $49::integer[])
            AS k (object_id, property, value_key, source, times)
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
    SELECT $1, c.object_id, c.property, c.value_key, c.source, c.head_id, c.pos, c.event_id,
        c.value, c.digest, c.actor_id, c.class, c.rule, c.band, c.root, c.evidence,
        c.derived_from::uuid[], c.valid_from, c.valid_to, coalesce(c.valid_since, $5),
        c.valid_until, $5, $5, c.times, c.audience
    FROM head, unnest(
        $50::uuid[], $51::text[], $52::text[], $53::text[], $54::uuid[], $55::bigint[],
        $56::uuid[], $57::text[], $58::bytea[], $59::uuid[], $60::text[], $61::text[],
        $62::smallint[], $63::text[], $64::text[], $65::text[], $66::text[], $67::text[],
        $68::timestamptz[], $69::timestamptz[], $70::integer[], $71::text[])
        AS c (object_id, property, value_key, source, head_id, pos, event_id, value, digest,
            actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to,
            valid_since, valid_until, times, audience)
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
        FROM head, unnest($72::bigint[], $73::bigint[]) AS k (doc_pos, closed_pos)
        CROSS JOIN LATERAL (
            SELECT b.ctid FROM search_documents b
            WHERE b.workspace_id = $1 AND b.doc_pos = k.doc_pos
            OFFSET 0) b) found
    WHERE d.ctid = found.place
),
documents_put AS (
    INSERT INTO search_documents (
        workspace_id, doc_pos, object_id, head_id, type, property, audience, head_audience, active,
        closed_pos, valid_since, valid_until, length, tokenizer, tsv)
    SELECT $1, d.doc_pos, d.object_id, d.head_id, d.type, d.property, d.audience, d.head_audience,
        true, d.closed_pos, coalesce(d.valid_since, $5), d.valid_until, d.length, d.tokenizer,
        d.tsv::tsvector
    FROM head, unnest(
        $74::bigint[], $75::uuid[], $76::uuid[], $77::text[], $78::text[], $79::text[],
        $80::text[], $81::bigint[], $82::timestamptz[], $83::timestamptz[], $84::integer[],
        $85::smallint[], $86::text[])
        AS d (doc_pos, object_id, head_id, type, property, audience, head_audience, closed_pos,
            valid_since, valid_until, length, tokenizer, tsv)
),
retries AS (
    INSERT INTO idempotency_keys (
        workspace_id, principal_id, key, request_digest, answer, quotes, recorded_at)
    SELECT $1, k.principal_id, k.key, k.request_digest, k.answer, k.quotes::bigint[], $5
    FROM head, unnest($87::uuid[], $88::text[], $89::bytea[], $90::text[], $91::text[])
        AS k (principal_id, key, request_digest, answer, quotes)
    ON CONFLICT DO NOTHING
)
SELECT pos FROM head

-- name: links
-- The same for links, in the transaction of `commit`.
WITH archived AS (
    INSERT INTO link_history
    SELECT l.*, k.closed_pos, k.closing
    FROM unnest($3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::bigint[], $8::text[])
        AS k (src_id, type, dst_id, source, closed_pos, closing)
    CROSS JOIN LATERAL (
        SELECT * FROM links b
        WHERE b.workspace_id = $1
            AND b.src_id = k.src_id
            AND b.type = k.type
            AND b.dst_id = k.dst_id
            AND b.source = k.source
        OFFSET 0) l
),
dropped AS (
    DELETE FROM links l
    USING (
        SELECT b.ctid AS place
        FROM unnest($9::uuid[], $10::text[], $11::uuid[], $12::text[])
            AS k (src_id, type, dst_id, source)
        CROSS JOIN LATERAL (
            SELECT b.ctid FROM links b
            WHERE b.workspace_id = $1
                AND b.src_id = k.src_id
                AND b.type = k.type
                AND b.dst_id = k.dst_id
                AND b.source = k.source
            OFFSET 0) b) found
    WHERE l.ctid = found.place
),
touched AS (
    UPDATE links l
    SET last_observed = $2, times = found.times
    FROM (
        SELECT b.ctid AS place, k.times
        FROM unnest($13::uuid[], $14::text[], $15::uuid[], $16::text[], $17::integer[])
            AS k (src_id, type, dst_id, source, times)
        CROSS JOIN LATERAL (
            SELECT b.ctid FROM links b
            WHERE b.workspace_id = $1
                AND b.src_id = k.src_id
                AND b.type = k.type
                AND b.dst_id = k.dst_id
                AND b.source = k.source
            OFFSET 0) b) found
    WHERE l.ctid = found.place
)
INSERT INTO links (
    workspace_id, src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id, actor_id,
    class, rule, band, root, evidence, derived_from, valid_from, valid_to, valid_since,
    valid_until, first_observed, last_observed, times, audience)
SELECT $1, c.src_id, c.type, c.dst_id, c.source, c.src_head_id, c.dst_head_id, c.pos, c.event_id,
    c.actor_id, c.class, c.rule, c.band, c.root, c.evidence, c.derived_from::uuid[], c.valid_from,
    c.valid_to, coalesce(c.valid_since, $2), c.valid_until, $2, $2, c.times, c.audience
FROM unnest(
    $18::uuid[], $19::text[], $20::uuid[], $21::text[], $22::uuid[], $23::uuid[], $24::bigint[],
    $25::uuid[], $26::uuid[], $27::text[], $28::text[], $29::smallint[], $30::text[], $31::text[],
    $32::text[], $33::text[], $34::text[], $35::timestamptz[], $36::timestamptz[], $37::integer[],
    $38::text[])
    AS c (src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id, actor_id, class,
        rule, band, root, evidence, derived_from, valid_from, valid_to, valid_since, valid_until,
        times, audience)
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
SELECT $1, c.object_id, c.property, c.value_key, c.source, c.head_id, c.pos, c.event_id, c.value,
    c.digest, c.actor_id, c.class, c.rule, c.band, c.root, c.evidence, c.derived_from::uuid[],
    c.valid_from, c.valid_to, coalesce(c.valid_since, $2), c.valid_until, $2, $2, c.times,
    c.audience, c.closed_pos, c.closing
FROM unnest(
    $3::uuid[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::bigint[], $9::uuid[],
    $10::text[], $11::bytea[], $12::uuid[], $13::text[], $14::text[], $15::smallint[], $16::text[],
    $17::text[], $18::text[], $19::text[], $20::text[], $21::timestamptz[], $22::timestamptz[],
    $23::integer[], $24::text[], $25::bigint[], $26::text[])
    AS c (object_id, property, value_key, source, head_id, pos, event_id, value, digest, actor_id,
        class, rule, band, root, evidence, derived_from, valid_from, valid_to, valid_since,
        valid_until, times, audience, closed_pos, closing)

-- name: links_closed
-- Links that one batch both made and closed.
INSERT INTO link_history (
    workspace_id, src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id, actor_id,
    class, rule, band, root, evidence, derived_from, valid_from, valid_to, valid_since,
    valid_until, first_observed, last_observed, times, audience, closed_pos, closing)
SELECT $1, c.src_id, c.type, c.dst_id, c.source, c.src_head_id, c.dst_head_id, c.pos, c.event_id,
    c.actor_id, c.class, c.rule, c.band, c.root, c.evidence, c.derived_from::uuid[], c.valid_from,
    c.valid_to, coalesce(c.valid_since, $2), c.valid_until, $2, $2, c.times, c.audience,
    c.closed_pos, c.closing
FROM unnest(
    $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::uuid[], $8::uuid[], $9::bigint[],
    $10::uuid[], $11::uuid[], $12::text[], $13::text[], $14::smallint[], $15::text[], $16::text[],
    $17::text[], $18::text[], $19::text[], $20::timestamptz[], $21::timestamptz[], $22::integer[],
    $23::text[], $24::bigint[], $25::text[])
    AS c (src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id, actor_id, class,
        rule, band, root, evidence, derived_from, valid_from, valid_to, valid_since, valid_until,
        times, audience, closed_pos, closing)
