"""Owns that migration may be run again and by several at once, and always ends in one schema."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Final

import psycopg

from muniment.store.migrate import migrate, pending
from tests.migration.conftest import Owner

PROCESSES: Final = 4
MIGRATE: Final = (
    "import json, sys; from muniment.store.migrate import migrate; "
    "print(json.dumps(migrate(sys.argv[1])))"
)
SCHEMA: Final = """
SELECT 'column', c.oid::regclass::text, a.attnum::text,
    concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        pg_get_expr(d.adbin, d.adrelid), array_to_string(a.attacl, ','))
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'relation', c.oid::regclass::text, c.relkind::text,
    concat_ws(' ', array_to_string(c.relacl, ','), pg_get_expr(c.relpartbound, c.oid))
FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'index', i.indexrelid::regclass::text, '', pg_get_indexdef(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'constraint', n.conrelid::regclass::text, n.conname, pg_get_constraintdef(n.oid)
FROM pg_constraint n WHERE n.connamespace = 'public'::regnamespace
UNION ALL
SELECT 'trigger', t.tgrelid::regclass::text, t.tgname,
    concat_ws(' ', t.tgenabled, pg_get_triggerdef(t.oid))
FROM pg_trigger t WHERE NOT t.tgisinternal
UNION ALL
SELECT 'function', p.oid::regprocedure::text, p.prosecdef::text,
    concat_ws(' ', array_to_string(p.proacl, ','), p.prosrc)
FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
UNION ALL
SELECT 'rule', r.rule, r.band::text, concat_ws(' ', r.origin, r.channel, r.confirmation)
FROM trust_rules r
UNION ALL
SELECT 'property', p.name, p.many::text, p.description FROM catalog_properties p
UNION ALL
SELECT 'link', l.name, l.inverse, l.description FROM catalog_links l
UNION ALL
SELECT 'extension', e.extname, e.extversion, '' FROM pg_extension e
UNION ALL
SELECT 'version', v.version_num, '', '' FROM alembic_version v
ORDER BY 1, 2, 3, 4
"""
GUARDS: Final = frozenset({("log_only_grows", "A"), ("log_never_truncated", "A")})
"""Every trigger of the log with its firing: `A` is ENABLE ALWAYS, whatever the replication role."""


def _schema(url: str) -> list[tuple[str, ...]]:
    """Return all that migration makes, as text."""
    with psycopg.connect(url) as connection:
        return connection.execute(SCHEMA).fetchall()


def _guards(owner: Owner) -> dict[str, set[tuple[str, str]]]:
    """Return the triggers of the log and of each of its partitions."""
    rows = owner.execute(
        "SELECT c.relname, t.tgname, t.tgenabled::text FROM pg_class c "
        "LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal "
        "WHERE c.relname = 'object_events' OR c.oid IN "
        "(SELECT inhrelid FROM pg_inherits WHERE inhparent = 'object_events'::regclass)"
    )
    found: dict[str, set[tuple[str, str]]] = {}
    for table, trigger, enabled in rows:
        found.setdefault(table, set()).add((trigger, enabled))
    return found


def _run_at_once(urls: list[str]) -> list[list[str]]:
    """Migrate in processes of their own and return what each said it applied."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATE, url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for url in urls
    ]
    said: list[list[str]] = []
    for process in started:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        said.append(json.loads(out))
    return said


def test_second_migration_of_an_empty_database_changes_nothing(blank: str, dsn: str) -> None:
    missing = pending(blank)
    assert missing
    assert migrate(blank) == missing
    once = _schema(blank)
    assert migrate(blank) == []
    assert pending(blank) == []
    assert _schema(blank) == once == _schema(dsn)


def test_four_processes_on_one_empty_database_make_one_schema(blank: str, dsn: str) -> None:
    missing = pending(blank)
    said = _run_at_once([blank] * PROCESSES)
    assert sorted(said) == [[]] * (PROCESSES - 1) + [missing]
    assert _schema(blank) == _schema(dsn)


def test_reviewed_data_that_was_changed_is_as_in_the_code_after_migration(
    owner: Owner, dsn: str
) -> None:
    before = _schema(dsn)
    owner.execute("UPDATE trust_rules SET band = 2, confirmation = 'x' WHERE rule = 'imported'")
    owner.execute("UPDATE catalog_properties SET many = NOT many, description = ''")
    owner.execute("DELETE FROM catalog_links")
    assert _schema(dsn) != before
    assert migrate(dsn) == []
    assert _schema(dsn) == before


def test_migration_makes_guarded_partitions_ahead_of_a_long_log(owner: Owner, dsn: str) -> None:
    owner.execute(
        "INSERT INTO workspaces (workspace_id, name, genesis, secret) "
        "VALUES (gen_random_uuid(), 'long', sha256('a'), sha256('b'))"
    )
    owner.execute("INSERT INTO log_head SELECT workspace_id, 25000000, sha256('c') FROM workspaces")
    assert migrate(dsn) == []
    parts = _guards(owner)
    assert {f"object_events_000{n}" for n in range(5)} < parts.keys()
    assert set(map(frozenset, parts.values())) == {GUARDS}


def test_log_and_each_partition_carry_both_triggers_always(owner: Owner) -> None:
    found = _guards(owner)
    assert found.keys() == {
        "object_events",
        "object_events_0000",
        "object_events_0001",
        "object_events_0002",
        "object_events_rest",
    }
    for table, triggers in found.items():
        assert triggers == GUARDS, table
