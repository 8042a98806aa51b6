-- name: empty_objects
-- Make room for a rebuild.
DELETE FROM objects WHERE workspace_id = $1

-- name: fill_objects
-- Objects by id, as a fold gave them.
INSERT INTO objects (
    workspace_id, object_id, type, name, canonical, status, merged_into, head_id, audience,
    created_by, created_at, created_pos, version)
SELECT
    $1, k.object_id, k.type, k.name, k.canonical, k.status, k.merged_into, k.head_id,
    k.audience, k.created_by, k.created_at, k.created_pos, k.version
FROM unnest(
    $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::uuid[],
    $9::text[], $10::uuid[], $11::timestamptz[], $12::bigint[], $13::bigint[])
    AS k (
        object_id, type, name, canonical, status, merged_into, head_id, audience, created_by,
        created_at, created_pos, version)

-- name: empty_object_aliases
-- Make room for a rebuild.
DELETE FROM object_aliases WHERE workspace_id = $1

-- name: fill_object_aliases
-- Names by their key, as a fold gave them.
INSERT INTO object_aliases (
    workspace_id, canonical, type, audience, object_id, name, is_current, pos)
SELECT
    $1, k.canonical, k.type, k.audience, k.object_id, k.name, k.is_current, k.pos
FROM unnest(
    $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::boolean[], $8::bigint[])
    AS k (
        canonical, type, audience, object_id, name, is_current, pos)

-- name: empty_assertions
-- Make room for a rebuild.
DELETE FROM assertions WHERE workspace_id = $1

-- name: fill_assertions
-- Current claims by their key, as a fold gave them.
INSERT INTO assertions (
    workspace_id, object_id, property, value_key, source, head_id, pos, event_id, value,
    digest, actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to,
    valid_since, valid_until, first_observed, last_observed, times, audience)
SELECT
    $1, k.object_id, k.property, k.value_key, k.source, k.head_id, k.pos, k.event_id, k.value,
    k.digest, k.actor_id, k.class, k.rule, k.band, k.root, k.evidence, k.derived_from::uuid[],
    k.valid_from, k.valid_to, k.valid_since, k.valid_until, k.first_observed, k.last_observed,
    k.times, k.audience
FROM unnest(
    $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::bigint[], $8::uuid[],
    $9::text[], $10::bytea[], $11::uuid[], $12::text[], $13::text[], $14::smallint[],
    $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::timestamptz[],
    $21::timestamptz[], $22::timestamptz[], $23::timestamptz[], $24::integer[], $25::text[])
    AS k (
        object_id, property, value_key, source, head_id, pos, event_id, value, digest,
        actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to,
        valid_since, valid_until, first_observed, last_observed, times, audience)

-- name: empty_assertion_history
-- Make room for a rebuild.
DELETE FROM assertion_history WHERE workspace_id = $1

-- name: fill_assertion_history
-- Claims that are no longer current, by pos, as a fold gave them.
INSERT INTO assertion_history (
    workspace_id, object_id, property, value_key, source, head_id, pos, event_id, value,
    digest, actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to,
    valid_since, valid_until, first_observed, last_observed, times, audience, closed_pos,
    closing)
SELECT
    $1, k.object_id, k.property, k.value_key, k.source, k.head_id, k.pos, k.event_id, k.value,
    k.digest, k.actor_id, k.class, k.rule, k.band, k.root, k.evidence, k.derived_from::uuid[],
    k.valid_from, k.valid_to, k.valid_since, k.valid_until, k.first_observed, k.last_observed,
    k.times, k.audience, k.closed_pos, k.closing
FROM unnest(
    $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::bigint[], $8::uuid[],
    $9::text[], $10::bytea[], $11::uuid[], $12::text[], $13::text[], $14::smallint[],
    $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::timestamptz[],
    $21::timestamptz[], $22::timestamptz[], $23::timestamptz[], $24::integer[], $25::text[],
    $26::bigint[], $27::text[])
    AS k (
        object_id, property, value_key, source, head_id, pos, event_id, value, digest,
        actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to,
        valid_since, valid_until, first_observed, last_observed, times, audience, closed_pos,
        closing)

-- name: empty_links
-- Make room for a rebuild.
DELETE FROM links WHERE workspace_id = $1

-- name: fill_links
-- Current links by their key, as a fold gave them.
INSERT INTO links (
    workspace_id, src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id,
    actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to,
    valid_since, valid_until, first_observed, last_observed, times, audience)
SELECT
    $1, k.src_id, k.type, k.dst_id, k.source, k.src_head_id, k.dst_head_id, k.pos, k.event_id,
    k.actor_id, k.class, k.rule, k.band, k.root, k.evidence, k.derived_from::uuid[],
    k.valid_from, k.valid_to, k.valid_since, k.valid_until, k.first_observed, k.last_observed,
    k.times, k.audience
FROM unnest(
    $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::uuid[], $7::uuid[], $8::bigint[],
    $9::uuid[], $10::uuid[], $11::text[], $12::text[], $13::smallint[], $14::text[],
    $15::text[], $16::text[], $17::text[], $18::text[], $19::timestamptz[], $20::timestamptz[],
    $21::timestamptz[], $22::timestamptz[], $23::integer[], $24::text[])
    AS k (
        src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id, actor_id, class,
        rule, band, root, evidence, derived_from, valid_from, valid_to, valid_since,
        valid_until, first_observed, last_observed, times, audience)

-- name: empty_link_history
-- Make room for a rebuild.
DELETE FROM link_history WHERE workspace_id = $1

-- name: fill_link_history
-- Links that are no longer current, by pos, as a fold gave them.
INSERT INTO link_history (
    workspace_id, src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id,
    actor_id, class, rule, band, root, evidence, derived_from, valid_from, valid_to,
    valid_since, valid_until, first_observed, last_observed, times, audience, closed_pos,
    closing)
SELECT
    $1, k.src_id, k.type, k.dst_id, k.source, k.src_head_id, k.dst_head_id, k.pos, k.event_id,
    k.actor_id, k.class, k.rule, k.band, k.root, k.evidence, k.derived_from::uuid[],
    k.valid_from, k.valid_to, k.valid_since, k.valid_until, k.first_observed, k.last_observed,
    k.times, k.audience, k.closed_pos, k.closing
FROM unnest(
    $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::uuid[], $7::uuid[], $8::bigint[],
    $9::uuid[], $10::uuid[], $11::text[], $12::text[], $13::smallint[], $14::text[],
    $15::text[], $16::text[], $17::text[], $18::text[], $19::timestamptz[], $20::timestamptz[],
    $21::timestamptz[], $22::timestamptz[], $23::integer[], $24::text[], $25::bigint[],
    $26::text[])
    AS k (
        src_id, type, dst_id, source, src_head_id, dst_head_id, pos, event_id, actor_id, class,
        rule, band, root, evidence, derived_from, valid_from, valid_to, valid_since,
        valid_until, first_observed, last_observed, times, audience, closed_pos, closing)

-- name: empty_principals
-- Make room for a rebuild.
DELETE FROM principals WHERE workspace_id = $1

-- name: fill_principals
-- Principals by id, as a fold gave them.
INSERT INTO principals (
    workspace_id, principal_id, name, role, audiences, owned_sources, default_audience, version)
SELECT
    $1, k.principal_id, k.name, k.role, k.audiences::text[], k.owned_sources::text[],
    k.default_audience, k.version
FROM unnest(
    $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[])
    AS k (
        principal_id, name, role, audiences, owned_sources, default_audience, version)

-- name: empty_catalog_types
-- Make room for a rebuild.
DELETE FROM catalog_types WHERE workspace_id = $1 AND added_pos IS NOT NULL

-- name: fill_catalog_types
-- Types that the operator added, by name, as a fold gave them.
INSERT INTO catalog_types (
    workspace_id, name, added_pos, description)
SELECT
    $1, k.name, k.added_pos, 'Added by the operator.'
FROM unnest(
    $2::text[], $3::bigint[])
    AS k (
        name, added_pos)

-- name: empty_search_documents
-- Make room for a rebuild.
DELETE FROM search_documents WHERE workspace_id = $1

-- name: fill_search_documents
-- Search documents by pos, as a fold gave them.
INSERT INTO search_documents (
    workspace_id, doc_pos, object_id, head_id, type, property, audience, head_audience, active,
    closed_pos, valid_since, valid_until, length, tokenizer, tsv)
SELECT
    $1, k.doc_pos, k.object_id, k.head_id, k.type, k.property, k.audience, k.head_audience,
    k.active, k.closed_pos, k.valid_since, k.valid_until, k.length, k.tokenizer,
    k.tsv::tsvector
FROM unnest(
    $2::bigint[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::boolean[], $10::bigint[], $11::timestamptz[], $12::timestamptz[], $13::integer[],
    $14::smallint[], $15::text[])
    AS k (
        doc_pos, object_id, head_id, type, property, audience, head_audience, active,
        closed_pos, valid_since, valid_until, length, tokenizer, tsv)
