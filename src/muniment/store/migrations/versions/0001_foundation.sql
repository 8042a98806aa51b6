-- The log, its projections, and what each database role may do with them.

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- Roles belong to the cluster, so another database may have made them, perhaps at this moment.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['muniment_writer', 'muniment_reader'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT', wanted);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
        EXECUTE format('GRANT %I TO CURRENT_USER', wanted);
    END LOOP;
END
$$;

-- Tenants ---------------------------------------------------------------------------------------

CREATE TABLE workspaces (
    workspace_id uuid PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (octet_length(name) BETWEEN 1 AND 200),
    genesis bytea NOT NULL CHECK (octet_length(genesis) = 32),
    secret bytea NOT NULL CHECK (octet_length(secret) = 32),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON COLUMN workspaces.genesis IS 'What the hash of the first event continues. Travels with an archive.';
COMMENT ON COLUMN workspaces.secret IS 'Signs cursors. Never leaves the database.';

CREATE TABLE log_head (
    workspace_id uuid PRIMARY KEY REFERENCES workspaces,
    pos bigint NOT NULL CHECK (pos >= 0),
    hash bytea NOT NULL CHECK (octet_length(hash) = 32)
);

-- The log ---------------------------------------------------------------------------------------

CREATE TABLE object_events (
    workspace_id uuid NOT NULL,
    pos bigint NOT NULL CHECK (pos > 0),
    event_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN (
        'object_created', 'object_renamed', 'status_changed', 'merged', 'unmerged', 'asserted',
        'reobserved', 'retracted', 'linked', 'unlinked', 'held', 'approved', 'rejected',
        'hold_expired', 'rejection_lifted', 'redacted', 'principal_changed', 'leased', 'released',
        'acknowledged', 'seat_taken')),
    object_id uuid,
    related_id uuid,
    actor_id uuid NOT NULL,
    via text NOT NULL CHECK (via IN ('console', 'mcp', 'ingest', 'import', 'internal')),
    audience text CHECK (audience ~ '^(fleet|(project|principal):[0-9a-f-]{36})$'),
    receipt_id uuid,
    recorded_at timestamptz NOT NULL,
    payload text,
    payload_hash bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (workspace_id, pos)
) PARTITION BY RANGE (pos);
COMMENT ON COLUMN object_events.audience IS
    'Who may read the event, beside those who may see its objects. NULL: the operator alone.';
COMMENT ON COLUMN object_events.payload IS
    'The canonical JSON that payload_hash was taken of, to the byte. NULL once redacted.';

CREATE TABLE object_events_rest PARTITION OF object_events DEFAULT;

CREATE INDEX object_events_object ON object_events (workspace_id, object_id, pos)
    WHERE object_id IS NOT NULL;
CREATE INDEX object_events_related ON object_events (workspace_id, related_id, pos)
    WHERE related_id IS NOT NULL;

-- The log only grows. The single exception is data, not a switch: a payload may be emptied when a
-- `redacted` event that names its position stands in the log.
CREATE FUNCTION refuse_log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND TG_LEVEL = 'ROW'
        AND NEW.payload IS NULL AND OLD.payload IS NOT NULL
        AND OLD.kind <> 'redacted'
        AND (NEW.workspace_id, NEW.pos, NEW.event_id, NEW.kind, NEW.actor_id, NEW.via,
             NEW.recorded_at, NEW.payload_hash, NEW.hash)
          = (OLD.workspace_id, OLD.pos, OLD.event_id, OLD.kind, OLD.actor_id, OLD.via,
             OLD.recorded_at, OLD.payload_hash, OLD.hash)
        AND (NEW.object_id, NEW.related_id, NEW.receipt_id, NEW.audience)
            IS NOT DISTINCT FROM (OLD.object_id, OLD.related_id, OLD.receipt_id, OLD.audience)
        AND EXISTS (
            SELECT FROM object_events r
            WHERE r.workspace_id = OLD.workspace_id
              AND r.pos > OLD.pos
              AND r.kind = 'redacted'
              AND r.payload::jsonb -> 'targets' @> to_jsonb(OLD.pos))
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the log only grows: % on % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE INDEX object_events_redactions ON object_events (workspace_id, pos) WHERE kind = 'redacted';

CREATE TRIGGER log_only_grows BEFORE UPDATE OR DELETE ON object_events
    FOR EACH ROW EXECUTE FUNCTION refuse_log_change();
ALTER TABLE object_events ENABLE ALWAYS TRIGGER log_only_grows;

-- Ten million positions a partition: an old one can be detached and moved to cold storage as it is.
-- Each migration run makes those that will be needed next; what comes before its partition is kept in
-- the default one. TRUNCATE triggers are not inherited, nor is ENABLE ALWAYS on every version.
CREATE FUNCTION make_log_partitions(p_upto bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    part bigint;
    made text;
BEGIN
    FOR part IN 0..p_upto / 10000000 LOOP
        made := format('object_events_%s', lpad(part::text, 4, '0'));
        CONTINUE WHEN to_regclass(made) IS NOT NULL OR EXISTS (
            SELECT FROM object_events_rest
            WHERE pos >= part * 10000000 AND pos < (part + 1) * 10000000);
        EXECUTE format(
            'CREATE TABLE %I PARTITION OF object_events FOR VALUES FROM (%s) TO (%s)',
            made, part * 10000000, (part + 1) * 10000000);
        PERFORM guard_log_part(made::regclass);
    END LOOP;
END
$$;
CREATE FUNCTION guard_log_part(p_part regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'CREATE TRIGGER log_never_truncated BEFORE TRUNCATE ON %s '
        'FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change()', p_part);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER log_never_truncated', p_part);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER log_only_grows', p_part);
END
$$;
REVOKE ALL ON FUNCTION make_log_partitions, guard_log_part FROM PUBLIC;
SELECT guard_log_part('object_events'), guard_log_part('object_events_rest');
SELECT make_log_partitions(20000000);

-- Empties the payloads that a redaction names. It can do no more than the trigger lets through.
CREATE FUNCTION empty_redacted_payloads(p_workspace uuid, p_redaction bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH emptied AS (
        UPDATE public.object_events e
        SET payload = NULL
        FROM public.object_events r
        WHERE r.workspace_id = p_workspace AND r.pos = p_redaction AND r.kind = 'redacted'
          AND e.workspace_id = p_workspace
          AND e.pos = ANY (ARRAY(
              SELECT t::bigint FROM jsonb_array_elements_text(r.payload::jsonb -> 'targets') t))
          AND e.payload IS NOT NULL
        RETURNING 1)
    SELECT count(*) FROM emptied
$$;
REVOKE ALL ON FUNCTION empty_redacted_payloads FROM PUBLIC;

-- Reviewed data -----------------------------------------------------------------------------------

CREATE TABLE catalog_types (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    name text NOT NULL,
    description text NOT NULL,
    added_pos bigint,
    PRIMARY KEY (workspace_id, name)
);
COMMENT ON COLUMN catalog_types.added_pos IS 'The event by which the operator added it; NULL for built-in.';
CREATE TABLE catalog_properties (
    name text PRIMARY KEY,
    description text NOT NULL,
    many boolean NOT NULL
);
CREATE TABLE catalog_links (
    name text PRIMARY KEY,
    inverse text NOT NULL,
    description text NOT NULL
);
CREATE TABLE trust_rules (
    rule text PRIMARY KEY,
    origin text NOT NULL,
    channel text NOT NULL,
    confirmation text NOT NULL,
    band smallint NOT NULL CHECK (band BETWEEN 0 AND 2),
    UNIQUE (origin, channel, confirmation)
);

-- Who -----------------------------------------------------------------------------------------------

CREATE TABLE principals (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    principal_id uuid NOT NULL,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN (
        'operator', 'agent', 'scribe', 'ingestor', 'reviewer', 'reader', 'system')),
    audiences text[] NOT NULL,
    owned_sources text[] NOT NULL,
    default_audience text NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (workspace_id, principal_id),
    UNIQUE (workspace_id, name)
);
CREATE TABLE credentials (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    token_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    issued_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (workspace_id, token_id)
);
COMMENT ON TABLE credentials IS 'Not a projection: hashes are kept out of the log and of archives.';

-- What a token opens. The reader's sessions look a hash up and can list nothing. Whether it has
-- expired is judged by the database's clock, so that all copies of the service agree.
CREATE FUNCTION principal_of_token(p_hash bytea)
RETURNS TABLE (workspace_id uuid, principal_id uuid, name text, role text, audiences text[],
    owned_sources text[], default_audience text, expired boolean, revoked boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT p.workspace_id, p.principal_id, p.name, p.role, p.audiences, p.owned_sources,
        p.default_audience, coalesce(c.expires_at <= clock_timestamp(), false),
        c.revoked_at IS NOT NULL
    FROM public.credentials c
    JOIN public.principals p
        ON p.workspace_id = c.workspace_id AND p.principal_id = c.principal_id
    WHERE c.token_hash = p_hash
$$;
REVOKE ALL ON FUNCTION principal_of_token FROM PUBLIC;

-- Every primary key starts with the workspace; every other index with what it is for. On a table
-- that was empty when a plan was made all indexes cost the same, and one that could serve by its
-- workspace alone would be scanned from end to end for each row.

-- Projections -----------------------------------------------------------------------------------------

CREATE TABLE objects (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    object_id uuid NOT NULL,
    type text NOT NULL,
    name text NOT NULL,
    canonical text NOT NULL CHECK (octet_length(canonical) <= 1024),
    status text NOT NULL CHECK (status IN ('active', 'merged', 'archived', 'retired', 'historical')),
    merged_into uuid,
    head_id uuid NOT NULL,
    audience text NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamptz NOT NULL,
    created_pos bigint NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (workspace_id, object_id),
    CHECK ((status = 'merged') = (merged_into IS NOT NULL)),
    CHECK ((status = 'merged') = (head_id <> object_id))
);
CREATE INDEX objects_head ON objects (head_id, workspace_id) WHERE head_id <> object_id;
CREATE INDEX objects_type ON objects (type, workspace_id, status, object_id);

CREATE TABLE object_aliases (
    workspace_id uuid NOT NULL REFERENCES workspaces,
    canonical text NOT NULL CHECK (octet_length(canonical) <= 1024),
    type text NOT NULL,
    audience text NOT NULL,
    object_id uuid NOT NULL,
    name text NOT NULL,
    is_current boolean NOT NULL,
    pos bigint NOT NULL,
    PRIMARY KEY (workspace_id, canonical, type, audience)
);
CREATE INDEX object_aliases_object ON object_aliases (object_id, workspace_id);
CREATE INDEX object_aliases_trigram ON object_aliases USING gin (workspace_id, canonical gin_trgm_ops);

CREATE TABLE assertions (
    workspace_id uuid NOT NULL,
    object_id uuid NOT NULL,
    property text NOT NULL,
    value_key text NOT NULL,
    source text NOT NULL,
    head_id uuid NOT NULL,
    pos bigint NOT NULL,
    event_id uuid NOT NULL,
    value text NOT NULL,
    digest bytea NOT NULL,
    actor_id uuid NOT NULL,
    class text NOT NULL CHECK (class IN (
        'self_declared', 'authoritative_api', 'direct_observation', 'derived', 'co_occurrence')),
    rule text NOT NULL REFERENCES trust_rules,
    band smallint NOT NULL CHECK (band BETWEEN 0 AND 2),
    root text NOT NULL,
    evidence text,
    derived_from uuid[] NOT NULL,
    valid_from text,
    valid_to text,
    valid_since timestamptz NOT NULL,
    valid_until timestamptz,
    first_observed timestamptz NOT NULL,
    last_observed timestamptz NOT NULL,
    times integer NOT NULL CHECK (times > 0),
    audience text NOT NULL,
    PRIMARY KEY (workspace_id, object_id, property, value_key, source)
);
COMMENT ON COLUMN assertions.value IS 'Canonical JSON text.';
COMMENT ON COLUMN assertions.valid_since IS
    'Start of validity for comparison: the first instant of valid_from, or of the first observation when that is open.';
COMMENT ON COLUMN assertions.valid_until IS 'First instant after valid_to; NULL when open.';
CREATE INDEX assertions_head ON assertions (head_id, property, value_key, workspace_id);
CREATE INDEX assertions_pos ON assertions (pos, workspace_id);
CREATE INDEX assertions_event ON assertions (event_id, workspace_id);

-- Claims that are no longer current, as they stood when they were closed.
CREATE TABLE assertion_history (
    LIKE assertions INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
    closed_pos bigint NOT NULL,
    closing text NOT NULL CHECK (closing IN ('superseded', 'retracted')),
    PRIMARY KEY (workspace_id, pos)
);
CREATE INDEX assertion_history_head ON assertion_history (head_id, property, pos, workspace_id);
CREATE INDEX assertion_history_object ON assertion_history (object_id, workspace_id);
CREATE INDEX assertion_history_event ON assertion_history (event_id, workspace_id);

CREATE TABLE links (
    workspace_id uuid NOT NULL,
    src_id uuid NOT NULL,
    type text NOT NULL,
    dst_id uuid NOT NULL,
    source text NOT NULL,
    src_head_id uuid NOT NULL,
    dst_head_id uuid NOT NULL,
    pos bigint NOT NULL,
    event_id uuid NOT NULL,
    actor_id uuid NOT NULL,
    class text NOT NULL,
    rule text NOT NULL REFERENCES trust_rules,
    band smallint NOT NULL CHECK (band BETWEEN 0 AND 2),
    root text NOT NULL,
    evidence text,
    derived_from uuid[] NOT NULL,
    valid_from text,
    valid_to text,
    valid_since timestamptz NOT NULL,
    valid_until timestamptz,
    first_observed timestamptz NOT NULL,
    last_observed timestamptz NOT NULL,
    times integer NOT NULL CHECK (times > 0),
    audience text NOT NULL,
    PRIMARY KEY (workspace_id, src_id, type, dst_id, source)
);
CREATE INDEX links_src_head ON links (src_head_id, type, dst_head_id, workspace_id);
CREATE INDEX links_dst_head ON links (dst_head_id, type, src_head_id, workspace_id);
-- Partial, so that nobody takes it to look one link up: a hub has as many as there are objects.
CREATE INDEX links_dst_merged ON links (dst_id, workspace_id) WHERE dst_id <> dst_head_id;
CREATE INDEX links_pos ON links (pos, workspace_id);

CREATE TABLE link_history (
    LIKE links INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
    closed_pos bigint NOT NULL,
    closing text NOT NULL CHECK (closing IN ('superseded', 'retracted')),
    PRIMARY KEY (workspace_id, pos)
);
CREATE INDEX link_history_src ON link_history (src_id, workspace_id);
CREATE INDEX link_history_dst ON link_history (dst_id, workspace_id);

-- One document per claim (doc_pos: the claim's pos) and one per object (doc_pos: its created_pos).
CREATE TABLE search_documents (
    workspace_id uuid NOT NULL,
    doc_pos bigint NOT NULL,
    object_id uuid NOT NULL,
    head_id uuid NOT NULL,
    type text NOT NULL,
    property text,
    audience text NOT NULL,
    head_audience text NOT NULL,
    active boolean NOT NULL,
    closed_pos bigint,
    valid_since timestamptz NOT NULL,
    valid_until timestamptz,
    length integer NOT NULL,
    tokenizer smallint NOT NULL,
    tsv tsvector NOT NULL,
    PRIMARY KEY (workspace_id, doc_pos)
);
COMMENT ON COLUMN search_documents.active IS 'The head is active: kept here so that no route can forget to ask.';
COMMENT ON COLUMN search_documents.property IS 'NULL for the document of an object, which holds its names.';
COMMENT ON COLUMN search_documents.closed_pos IS 'Set once the claim is superseded or retracted.';
CREATE INDEX search_documents_text ON search_documents USING gin (workspace_id, tsv);
CREATE INDEX search_documents_object ON search_documents (object_id, workspace_id);
CREATE INDEX search_documents_head ON search_documents (head_id, workspace_id);

-- Retries -----------------------------------------------------------------------------------------------

CREATE TABLE idempotency_keys (
    workspace_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    key text NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 200),
    request_digest bytea NOT NULL,
    answer text NOT NULL,
    quotes bigint[],
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, principal_id, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (recorded_at);
CREATE INDEX idempotency_keys_quotes ON idempotency_keys USING gin (quotes) WHERE quotes IS NOT NULL;

-- Visibility: the one definition. Every read selects from these; none names a base table. -------------
-- They are inlined by the planner, so that a filter or a limit outside reaches the indexes inside.
-- p_every: the reader sees each audience (the operator). p_audiences: what it sees otherwise.
-- p_as_of: what held in the world at that moment; NULL: now, by the database's clock.
-- The object of a row is asked for by a scalar subquery: a join would let the planner read a whole
-- workspace's objects for each row as long as it has no statistics.
-- visible_*: what takes part today. named_*: for lenses, by named object, of any status.

CREATE FUNCTION may_see(p_audience text, p_every boolean, p_audiences text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_every OR p_audience = ANY (p_audiences)
$$;

CREATE FUNCTION in_force(p_since timestamptz, p_until timestamptz, p_as_of timestamptz)
RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT p_since <= coalesce(p_as_of, now())
        AND (p_until IS NULL OR p_until > coalesce(p_as_of, now()))
$$;

CREATE FUNCTION named_objects(p_workspace uuid, p_every boolean, p_audiences text[])
RETURNS SETOF objects LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT o.* FROM objects o
    WHERE o.workspace_id = p_workspace AND may_see(o.audience, p_every, p_audiences)
$$;

CREATE FUNCTION visible_objects(p_workspace uuid, p_every boolean, p_audiences text[])
RETURNS SETOF objects LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT o.* FROM objects o
    WHERE o.workspace_id = p_workspace AND o.status = 'active'
      AND may_see(o.audience, p_every, p_audiences)
$$;

-- Names that lead to something the reader may know of, with the object that answers today.
CREATE FUNCTION named_aliases(p_workspace uuid, p_every boolean, p_audiences text[])
RETURNS TABLE (canonical text, type text, audience text, object_id uuid, name text,
               is_current boolean, pos bigint, head_id uuid, head_status text)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT a.canonical, a.type, a.audience, a.object_id, a.name, a.is_current, a.pos, o.head_id,
        h.status
    FROM object_aliases a
    CROSS JOIN LATERAL (
        SELECT n.head_id FROM objects n
        WHERE n.workspace_id = p_workspace AND n.object_id = a.object_id
          AND may_see(n.audience, p_every, p_audiences)
        OFFSET 0
    ) o
    CROSS JOIN LATERAL (
        SELECT n.status FROM objects n
        WHERE n.workspace_id = p_workspace AND n.object_id = o.head_id
          AND may_see(n.audience, p_every, p_audiences)
        OFFSET 0
    ) h
    WHERE a.workspace_id = p_workspace
      AND may_see(a.audience, p_every, p_audiences)
$$;

-- Every claim that the reader may know of, current (closed_pos NULL) or closed.
CREATE FUNCTION named_claims(p_workspace uuid, p_every boolean, p_audiences text[])
RETURNS TABLE (object_id uuid, property text, value_key text, source text, head_id uuid,
    pos bigint, event_id uuid, value text, digest bytea, actor_id uuid, class text, rule text,
    band smallint, root text, evidence text, derived_from uuid[], valid_from text, valid_to text,
    valid_since timestamptz, valid_until timestamptz, first_observed timestamptz,
    last_observed timestamptz, times integer, audience text, closed_pos bigint, closing text)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT a.object_id, a.property, a.value_key, a.source, a.head_id, a.pos, a.event_id, a.value,
        a.digest, a.actor_id, a.class, a.rule, a.band, a.root, a.evidence, a.derived_from,
        a.valid_from, a.valid_to, a.valid_since, a.valid_until, a.first_observed, a.last_observed,
        a.times, a.audience, a.closed_pos, a.closing
    FROM (
        SELECT c.*, NULL::bigint AS closed_pos, NULL::text AS closing FROM assertions c
        UNION ALL
        SELECT c.* FROM assertion_history c
    ) a
    WHERE a.workspace_id = p_workspace
      AND may_see(a.audience, p_every, p_audiences)
      AND (SELECT may_see(o.audience, p_every, p_audiences) FROM objects o
           WHERE o.workspace_id = p_workspace AND o.object_id = a.object_id)
$$;

-- Claims of a named object, as known now (p_known NULL) or at that pos.
CREATE FUNCTION named_assertions(
    p_workspace uuid, p_every boolean, p_audiences text[], p_known bigint)
RETURNS TABLE (object_id uuid, property text, value_key text, source text, head_id uuid,
    pos bigint, event_id uuid, value text, digest bytea, actor_id uuid, class text, rule text,
    band smallint, root text, evidence text, derived_from uuid[], valid_from text, valid_to text,
    valid_since timestamptz, valid_until timestamptz, first_observed timestamptz,
    last_observed timestamptz, times integer, audience text, closed_pos bigint, closing text)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT * FROM named_claims(p_workspace, p_every, p_audiences) c
    WHERE p_known IS NULL AND c.closed_pos IS NULL
       OR c.pos <= p_known AND (c.closed_pos IS NULL OR c.closed_pos > p_known)
$$;

-- Current claims of what takes part today, in force at p_as_of.
CREATE FUNCTION visible_assertions(
    p_workspace uuid, p_every boolean, p_audiences text[], p_as_of timestamptz)
RETURNS SETOF assertions LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT a.* FROM assertions a
    WHERE a.workspace_id = p_workspace
      AND may_see(a.audience, p_every, p_audiences)
      AND (SELECT h.status = 'active' AND may_see(h.audience, p_every, p_audiences)
           FROM objects h
           WHERE h.workspace_id = p_workspace AND h.object_id = a.head_id)
      AND (a.object_id = a.head_id
           OR (SELECT may_see(o.audience, p_every, p_audiences) FROM objects o
               WHERE o.workspace_id = p_workspace AND o.object_id = a.object_id))
      AND in_force(a.valid_since, a.valid_until, p_as_of)
$$;

-- Links of a named object, as known now (p_known NULL) or at that pos. A link inside one merged
-- group is not shown.
CREATE FUNCTION named_links(
    p_workspace uuid, p_every boolean, p_audiences text[], p_known bigint)
RETURNS TABLE (src_id uuid, type text, dst_id uuid, source text, src_head_id uuid,
    dst_head_id uuid, pos bigint, event_id uuid, actor_id uuid, class text, rule text,
    band smallint, root text, evidence text, derived_from uuid[], valid_from text, valid_to text,
    valid_since timestamptz, valid_until timestamptz, first_observed timestamptz,
    last_observed timestamptz, times integer, audience text, closed_pos bigint, closing text)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT l.src_id, l.type, l.dst_id, l.source, l.src_head_id, l.dst_head_id, l.pos, l.event_id,
        l.actor_id, l.class, l.rule, l.band, l.root, l.evidence, l.derived_from, l.valid_from,
        l.valid_to, l.valid_since, l.valid_until, l.first_observed, l.last_observed, l.times,
        l.audience, l.closed_pos, l.closing
    FROM (
        SELECT c.*, NULL::bigint AS closed_pos, NULL::text AS closing FROM links c
        UNION ALL
        SELECT c.* FROM link_history c
    ) l
    WHERE l.workspace_id = p_workspace
      AND may_see(l.audience, p_every, p_audiences)
      AND (SELECT may_see(o.audience, p_every, p_audiences) FROM objects o
           WHERE o.workspace_id = p_workspace AND o.object_id = l.src_id)
      AND (SELECT may_see(o.audience, p_every, p_audiences) FROM objects o
           WHERE o.workspace_id = p_workspace AND o.object_id = l.dst_id)
      AND (l.src_head_id <> l.dst_head_id OR l.src_id = l.dst_id)
      AND (p_known IS NULL AND l.closed_pos IS NULL
           OR l.pos <= p_known AND (l.closed_pos IS NULL OR l.closed_pos > p_known))
$$;

-- Current links between things that take part today.
CREATE FUNCTION visible_links(
    p_workspace uuid, p_every boolean, p_audiences text[], p_as_of timestamptz)
RETURNS SETOF links LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT l.* FROM links l
    WHERE l.workspace_id = p_workspace
      AND may_see(l.audience, p_every, p_audiences)
      AND (SELECT s.status = 'active' AND may_see(s.audience, p_every, p_audiences)
           FROM objects s
           WHERE s.workspace_id = p_workspace AND s.object_id = l.src_head_id)
      AND (SELECT d.status = 'active' AND may_see(d.audience, p_every, p_audiences)
           FROM objects d
           WHERE d.workspace_id = p_workspace AND d.object_id = l.dst_head_id)
      AND (l.src_id = l.src_head_id
           OR (SELECT may_see(o.audience, p_every, p_audiences) FROM objects o
               WHERE o.workspace_id = p_workspace AND o.object_id = l.src_id))
      AND (l.dst_id = l.dst_head_id
           OR (SELECT may_see(o.audience, p_every, p_audiences) FROM objects o
               WHERE o.workspace_id = p_workspace AND o.object_id = l.dst_id))
      AND (l.src_head_id <> l.dst_head_id OR l.src_id = l.dst_id)
      AND in_force(l.valid_since, l.valid_until, p_as_of)
$$;

-- Search documents of what takes part today: of current claims, or of those at p_known; with
-- p_closed also of claims that were superseded or retracted since.
CREATE FUNCTION visible_documents(
    p_workspace uuid, p_every boolean, p_audiences text[], p_as_of timestamptz, p_known bigint,
    p_closed boolean)
RETURNS SETOF search_documents LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT d.* FROM search_documents d
    WHERE d.workspace_id = p_workspace
      AND d.active
      AND may_see(d.audience, p_every, p_audiences)
      AND may_see(d.head_audience, p_every, p_audiences)
      AND in_force(d.valid_since, d.valid_until, p_as_of)
      AND (p_known IS NULL OR d.doc_pos <= p_known)
      AND (d.closed_pos IS NULL OR p_closed OR d.closed_pos > p_known)
$$;

-- Events a lens may show: those of objects that the reader may know of, and of claims it may read.
CREATE FUNCTION named_events(p_workspace uuid, p_every boolean, p_audiences text[])
RETURNS SETOF object_events LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT e.* FROM object_events e
    WHERE e.workspace_id = p_workspace
      AND (SELECT may_see(o.audience, p_every, p_audiences) FROM objects o
           WHERE o.workspace_id = p_workspace AND o.object_id = e.object_id)
      AND (e.related_id IS NULL
           OR (SELECT may_see(r.audience, p_every, p_audiences) FROM objects r
               WHERE r.workspace_id = p_workspace AND r.object_id = e.related_id))
      AND (p_every OR e.audience = ANY (p_audiences))
$$;

-- The redaction that emptied an event which the reader may see.
CREATE FUNCTION redaction_of(p_workspace uuid, p_pos bigint) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT min(r.pos) FROM object_events r
    WHERE r.workspace_id = p_workspace AND r.kind = 'redacted' AND r.pos > p_pos
      AND r.payload::jsonb -> 'targets' @> to_jsonb(p_pos)
$$;

-- What a fold still needs of an event that was redacted.
CREATE FUNCTION skeleton_of(p_workspace uuid, p_pos bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT r.payload::jsonb -> 'skeletons' ->> (t.place - 1)::integer
    FROM object_events r
    CROSS JOIN LATERAL jsonb_array_elements_text(r.payload::jsonb -> 'targets')
        WITH ORDINALITY AS t (pos, place)
    WHERE r.workspace_id = p_workspace AND r.kind = 'redacted' AND r.pos > p_pos
      AND t.pos::bigint = p_pos
    ORDER BY r.pos
    LIMIT 1
$$;

-- What an actor on a visible row is called.
CREATE FUNCTION principal_name(p_workspace uuid, p_principal uuid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT p.name FROM principals p
    WHERE p.workspace_id = p_workspace AND p.principal_id = p_principal
$$;

-- The catalog belongs to the whole workspace.
CREATE FUNCTION visible_types(p_workspace uuid) RETURNS SETOF catalog_types
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT t.* FROM catalog_types t WHERE t.workspace_id = p_workspace
$$;

-- The last pos that was in the log at a moment. Times follow positions, so this halves its way.
CREATE FUNCTION pos_at(p_workspace uuid, p_at timestamptz) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH RECURSIVE halving (low, high) AS (
        SELECT 0::bigint, h.pos FROM log_head h WHERE h.workspace_id = p_workspace
        UNION ALL
        SELECT CASE WHEN e.recorded_at <= p_at THEN e.pos ELSE s.low END,
            CASE WHEN e.recorded_at <= p_at THEN s.high ELSE e.pos - 1 END
        FROM halving s
        JOIN object_events e ON e.workspace_id = p_workspace AND e.pos = (s.low + s.high + 1) / 2
        WHERE s.low < s.high)
    SELECT coalesce(min(low), 0) FROM halving WHERE low >= high
$$;

-- For what follows the log or checks it, not for a reader.
CREATE FUNCTION whole_log(p_workspace uuid) RETURNS SETOF object_events
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT e.* FROM object_events e WHERE e.workspace_id = p_workspace
$$;

-- Grants ------------------------------------------------------------------------------------------------
-- writer: the log grows by it, projections are its own. reader: looks. Neither owns anything.

GRANT USAGE ON SCHEMA public TO muniment_writer, muniment_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO muniment_writer;
GRANT INSERT ON workspaces, log_head, object_events TO muniment_writer;
GRANT UPDATE (pos, hash) ON log_head TO muniment_writer;
GRANT UPDATE (genesis) ON workspaces TO muniment_writer;
GRANT INSERT, UPDATE, DELETE ON principals, objects, object_aliases, assertions, assertion_history,
    links, link_history, search_documents, idempotency_keys, credentials, catalog_types
    TO muniment_writer;
GRANT EXECUTE ON FUNCTION empty_redacted_payloads TO muniment_writer;
GRANT EXECUTE ON FUNCTION principal_of_token TO muniment_reader;
GRANT SELECT ON workspaces, log_head, object_events, principals, objects, object_aliases,
    assertions, assertion_history, links, link_history, search_documents, catalog_types,
    catalog_properties, catalog_links, trust_rules TO muniment_reader;
