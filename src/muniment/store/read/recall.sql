-- name: find_names
-- Objects that a short query names: by id, by a name to the letter, by its beginning, or nearly.
WITH found AS (
    SELECT o.object_id, o.name, 4 AS how, 1.0::float8 AS likeness
    FROM named_objects($1, $2, $3) o
    WHERE o.object_id = $6
    UNION ALL
    SELECT a.object_id, a.name, 3, 1.0
    FROM named_aliases($1, $2, $3) a
    WHERE a.canonical = $7
    UNION ALL
    (
        SELECT a.object_id, a.name, 2, length($7) / length(a.canonical)::float8
        FROM named_aliases($1, $2, $3) a
        WHERE $8 AND a.canonical LIKE $9 AND a.head_status = 'active'
        ORDER BY length(a.canonical), a.canonical, a.object_id
        LIMIT $11
    )
    UNION ALL
    (
        SELECT a.object_id, a.name, 1,
            greatest(
                similarity(a.canonical, $7), 0.8 * word_similarity($7, a.canonical))::float8 AS alike
        FROM named_aliases($1, $2, $3) a
        WHERE $10 AND (a.canonical % $7 OR a.canonical %> $7) AND a.head_status = 'active'
        ORDER BY alike DESC, a.canonical, a.object_id
        LIMIT $11
    )
)
SELECT DISTINCT ON (f.object_id)
    f.object_id,
    f.name,
    d.type,
    f.how,
    f.likeness
FROM found f
CROSS JOIN LATERAL (
    SELECT v.type FROM visible_documents($1, $2, $3, $4, $5, false) v
    WHERE v.object_id = f.object_id AND v.property IS NULL
    OFFSET 0
) d
ORDER BY f.object_id, f.how DESC, f.likeness DESC, f.name

-- name: count_documents
-- In how many visible documents each lexeme occurs, counted up to a bound.
WITH asked AS MATERIALIZED (
    SELECT t.place, t.query::tsquery AS query
    FROM unnest($6::text[]) WITH ORDINALITY AS t (query, place)
)
SELECT (
    SELECT count(*)
    FROM (
        SELECT
        FROM visible_documents($1, $2, $3, $4, $5, $7) d
        WHERE d.tsv @@ asked.query
        LIMIT $8
    ) AS bounded
) AS documents
FROM asked
ORDER BY asked.place

-- name: rank_documents
-- The best documents of all routes, with the claim behind each; score by score, then pos.
WITH routes AS MATERIALIZED (
    SELECT t.route, t.query::tsquery AS query FROM unnest($7::text[], $8::text[]) AS t (route, query)
),
lexemes AS MATERIALIZED (
    SELECT t.query::tsquery AS query, t.weight
    FROM unnest($9::text[], $10::float8[]) AS t (query, weight)
),
terms AS MATERIALIZED (
    SELECT t.query::tsquery AS query, t.place
    FROM unnest($11::text[]) WITH ORDINALITY AS t (query, place)
),
named AS MATERIALIZED (
    SELECT t.object_id, t.likeness FROM unnest($12::uuid[], $13::float8[]) AS t (object_id, likeness)
),
admitted AS MATERIALIZED (
    SELECT r.route, m.doc_pos, m.confidence
    FROM routes r
    CROSS JOIN LATERAL (
        SELECT d.doc_pos, c.confidence
        FROM (
            SELECT d.doc_pos, d.property
            FROM visible_documents($1, $2, $3, $4, $5, $6) d
            WHERE d.tsv @@ r.query
                AND ($14::text IS NULL OR d.type = $14)
                AND ($15::text IS NULL OR d.property = $15)
                AND ($18::uuid IS NULL OR d.head_id = $18)
                AND ($19::text IS NULL OR d.audience = $19)
                AND (NOT $21 OR d.property IS NULL)
                AND ($22 OR d.property IS NOT NULL)
                AND ($26::bigint IS NULL OR d.doc_pos <= $26)
            ORDER BY d.doc_pos DESC
            OFFSET 0
        ) d
        CROSS JOIN LATERAL (
            SELECT $25::float8 AS confidence
            WHERE d.property IS NULL
            UNION ALL
            SELECT ($24::float8[])[array_position($23::text[], c.class)]
            FROM named_claims($1, $2, $3) c
            WHERE d.property IS NOT NULL
                AND c.pos = d.doc_pos
                AND c.band BETWEEN $20 AND $37
                AND ($16::text IS NULL OR c.source = $16)
                AND ($17::text IS NULL OR c.class = $17)
            OFFSET 0
        ) c
        ORDER BY d.doc_pos DESC
        LIMIT $27
    ) m
),
candidates AS (
    SELECT a.doc_pos, a.confidence, NULL::float8 AS likeness, a.route
    FROM admitted a
    UNION ALL
    SELECT d.doc_pos, $25, n.likeness, NULL
    FROM named n
    CROSS JOIN LATERAL (
        SELECT v.doc_pos FROM visible_documents($1, $2, $3, $4, $5, false) v
        WHERE v.object_id = n.object_id
            AND v.property IS NULL
            AND ($14::text IS NULL OR v.type = $14)
            AND ($18::uuid IS NULL OR v.head_id = $18)
            AND ($19::text IS NULL OR v.audience = $19)
            AND ($26::bigint IS NULL OR v.doc_pos <= $26)
        OFFSET 0
    ) d
    WHERE $22
),
distinct_candidates AS (
    SELECT
        c.doc_pos,
        max(c.confidence) AS confidence,
        coalesce(max(c.likeness), 0) AS likeness,
        coalesce(bool_or(c.route = 'strict'), false) AS strict,
        bool_or(c.route IS NOT NULL) AS textual
    FROM candidates c
    GROUP BY c.doc_pos
),
matched AS MATERIALIZED (
    SELECT
        c.doc_pos,
        c.confidence,
        c.likeness,
        c.textual,
        d.object_id,
        d.head_id,
        d.property,
        c.strict OR NOT c.textual
            AND EXISTS (SELECT FROM routes r WHERE r.route = 'strict' AND d.tsv @@ r.query) AS strict,
        (
            SELECT coalesce(sum(l.weight * f.tf * 2.2 / (f.tf + 1.2 * (0.25 + 0.75 * d.length / $28))), 0)
            FROM lexemes l
            CROSS JOIN LATERAL (
                SELECT round(
                    1 / (1.6449340668
                        * greatest(1e-6, 1 - ts_rank('{1,1,1,1}', d.tsv, l.query)::float8))
                    - 0.5) AS tf
            ) f
        ) AS text
    FROM distinct_candidates c
    CROSS JOIN LATERAL (
        SELECT v.object_id, v.head_id, v.property, v.tsv, v.length
        FROM visible_documents($1, $2, $3, $4, $5, $6) v
        WHERE v.doc_pos = c.doc_pos
        OFFSET 0
    ) d
),
leveled AS (
    SELECT m.*, coalesce($29::float8, max(m.text) OVER ()) AS highest,
        max(m.doc_pos) OVER () AS newest
    FROM matched m
),
scored AS (
    SELECT
        s.*,
        ($30::float8[])[1] * (s.text / greatest(s.highest, 1e-9)) * s.confidence
            + ($30::float8[])[2] * s.strict::integer * s.confidence
            + ($30::float8[])[3] * s.likeness AS score
    FROM leveled s
),
chosen AS MATERIALIZED (
    SELECT s.*
    FROM scored s
    WHERE ($31::float8 IS NULL OR (s.score, s.doc_pos) < ($31, $32))
        AND ($33::float8 IS NULL OR (s.score, s.doc_pos) >= ($33, $34))
    ORDER BY s.score DESC, s.doc_pos DESC
    LIMIT $35
)
SELECT
    s.doc_pos,
    s.score,
    s.highest,
    s.newest,
    s.confidence AS weight,
    s.likeness,
    s.strict,
    s.textual,
    s.object_id,
    s.head_id,
    h.type,
    h.name,
    CASE WHEN s.object_id <> s.head_id THEN o.name END AS via_name,
    s.property,
    left(c.value, $36) AS value,
    octet_length(c.value) AS value_bytes,
    c.event_id,
    c.source,
    c.class AS evidence_class,
    c.band,
    c.root,
    c.evidence,
    c.first_observed,
    c.last_observed,
    c.times,
    c.valid_from,
    c.valid_to,
    c.closed_pos,
    c.closing,
    next.event_id AS next_id,
    next.pos AS next_pos,
    left(next.value, 200) AS next_value,
    coalesce(others.roots, 0) AS roots,
    coalesce(others.disagree, false) AS disagree,
    ARRAY(
        SELECT d.tsv @@ t.query
        FROM terms t
        CROSS JOIN visible_documents($1, $2, $3, $4, $5, $6) d
        WHERE d.doc_pos = s.doc_pos
        ORDER BY t.place
    ) AS covers,
    EXISTS (SELECT FROM admitted a GROUP BY a.route HAVING count(*) >= $27) AS capped
FROM chosen s
CROSS JOIN LATERAL (
    SELECT n.type, n.name FROM named_objects($1, $2, $3) n WHERE n.object_id = s.head_id OFFSET 0
) h
CROSS JOIN LATERAL (
    SELECT n.name FROM named_objects($1, $2, $3) n WHERE n.object_id = s.object_id OFFSET 0
) o
LEFT JOIN LATERAL (
    SELECT k.* FROM named_claims($1, $2, $3) k
    WHERE s.property IS NOT NULL AND k.pos = s.doc_pos
    OFFSET 0
) c ON true
LEFT JOIN LATERAL (
    SELECT
        count(DISTINCT v.root) FILTER (WHERE v.digest = c.digest AND v.band >= 1) AS roots,
        bool_or(v.digest <> c.digest AND v.band >= 1 AND v.source <> c.source) AS disagree,
        max(v.pos) FILTER (WHERE v.source = c.source) AS newest_pos
    FROM (
        SELECT DISTINCT ON (a.source) a.source, a.pos, a.digest, a.root, a.band
        FROM visible_assertions($1, $2, $3, $4) a
        WHERE a.head_id = s.head_id AND a.property = s.property AND a.value_key = c.value_key
        ORDER BY a.source, a.pos DESC
    ) v
    OFFSET 0
) others ON c.pos IS NOT NULL
LEFT JOIN LATERAL (
    SELECT k.event_id, k.pos, k.value FROM named_claims($1, $2, $3) k
    WHERE k.pos = CASE
            WHEN c.closing = 'superseded' THEN c.closed_pos
            WHEN c.closing IS NULL AND others.newest_pos > c.pos THEN others.newest_pos
        END
    OFFSET 0
) next ON true
ORDER BY s.score DESC, s.doc_pos DESC

-- name: whole_values
-- The values of visible claims in full, for a snippet from further down.
SELECT c.pos, c.value
FROM unnest($4::bigint[]) AS wanted (pos)
CROSS JOIN LATERAL (
    SELECT k.pos, k.value FROM named_claims($1, $2, $3) k WHERE k.pos = wanted.pos OFFSET 0
) c

-- name: nearest_names
-- Visible names that look like what found nothing, or like a word of it.
SELECT near.name, near.type
FROM (
    SELECT DISTINCT ON (a.object_id) a.name, a.type, a.canonical,
        greatest(
            similarity(a.canonical, asked.text),
            word_similarity(asked.text, a.canonical)) AS alike
    FROM unnest($4::text[]) AS asked (text)
    CROSS JOIN LATERAL (
        SELECT n.object_id, n.name, n.type, n.canonical
        FROM named_aliases($1, $2, $3) n
        WHERE (n.canonical % asked.text OR n.canonical %> asked.text) AND n.head_status = 'active'
        OFFSET 0
    ) a
    ORDER BY a.object_id, alike DESC, a.canonical
) near
ORDER BY near.alike DESC, near.canonical, near.type
LIMIT $5

-- name: added_types
-- Every type of the catalog, those that the operator added included.
SELECT name FROM visible_types($1) ORDER BY name
