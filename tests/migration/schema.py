"""What a database holds beside its rows: columns, constraints, indexes, triggers, grants."""

from __future__ import annotations

from typing import Final

from psycopg import Connection

_SNAPSHOT: Final = {
    "columns": """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum)
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v')""",
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace""",
    "indexes": """
        SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid)
        FROM pg_index JOIN pg_class c ON c.oid = indrelid
        WHERE c.relnamespace = 'public'::regnamespace""",
    "triggers": """
        SELECT tgrelid::regclass::text, tgname, tgenabled::text, pg_get_triggerdef(t.oid)
        FROM pg_trigger t WHERE NOT tgisinternal""",
    "functions": """
        SELECT p.oid::regprocedure::text, pg_get_functiondef(p.oid), p.proacl::text
        FROM pg_proc p LEFT JOIN pg_depend d ON d.objid = p.oid AND d.deptype = 'e'
        WHERE p.pronamespace = 'public'::regnamespace AND d.objid IS NULL""",
    "grants": """
        SELECT c.relname, c.relkind::text, c.relacl::text,
            (SELECT array_agg(a.attname || a.attacl::text ORDER BY a.attnum)
             FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL)::text
        FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace""",
    "extensions": "SELECT extname FROM pg_extension",
    "properties": "SELECT p::text FROM catalog_properties p",
    "links": "SELECT l::text FROM catalog_links l",
    "rules": "SELECT r::text FROM trust_rules r",
    "revision": "SELECT version_num FROM alembic_version",
}


def snapshot(connection: Connection[tuple[object, ...]]) -> dict[str, list[str]]:
    """Return everything of the schema, in an order of its own."""
    return {
        part: sorted(repr(row) for row in connection.execute(sql.encode()).fetchall())
        for part, sql in _SNAPSHOT.items()
    }
