"""Owns the table of what each database role may do: this much, and nothing else."""

from __future__ import annotations

from typing import Final

import pytest

from muniment.store.database import READER_ROLE, WRITER_ROLE
from tests.migration.conftest import Owner

LOG: Final = frozenset({"object_events"})
PARTS: Final = frozenset(f"object_events_{part}" for part in ("0000", "0001", "0002", "rest"))
PROJECTIONS: Final = frozenset(
    {
        "assertion_history",
        "assertions",
        "catalog_types",
        "link_history",
        "links",
        "object_aliases",
        "objects",
        "principals",
        "search_documents",
    }
)
REVIEWED: Final = frozenset({"catalog_properties", "catalog_links", "trust_rules"})
HEADS: Final = frozenset({"workspaces", "log_head"})
OWN: Final = frozenset({"idempotency_keys", "credentials"})
"""Tables that are neither the log nor made from it."""

READER: Final = {"SELECT": LOG | HEADS | PROJECTIONS | REVIEWED}
WRITER: Final = {
    "SELECT": LOG | PARTS | HEADS | PROJECTIONS | REVIEWED | OWN | {"alembic_version"},
    "INSERT": LOG | HEADS | PROJECTIONS | OWN,
    "UPDATE": PROJECTIONS | OWN,
    "DELETE": PROJECTIONS | OWN,
}
COLUMNS: Final = {
    (WRITER_ROLE, "log_head", "pos", "UPDATE"),
    (WRITER_ROLE, "log_head", "hash", "UPDATE"),
    (WRITER_ROLE, "workspaces", "genesis", "UPDATE"),
}
FUNCTIONS: Final = {
    "empty_redacted_payloads": {WRITER_ROLE},
    "principal_of_token": {READER_ROLE},
    "make_log_partitions": set[str](),
    "guard_log_part": set[str](),
}
"""Functions that not everybody may call: what runs with the owner's rights or makes tables."""
VERBS: Final = (
    "SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "MAINTAIN",
)  # fmt: skip
ROLES: Final = (READER_ROLE, WRITER_ROLE)


def _tables(owner: Owner) -> set[str]:
    rows = owner.execute(
        "SELECT relname FROM pg_class "
        "WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S')"
    )
    return {name for (name,) in rows}


@pytest.mark.promise("P2")
@pytest.mark.parametrize(("role", "granted"), [(READER_ROLE, READER), (WRITER_ROLE, WRITER)])
def test_role_holds_exactly_the_table_of_rights(
    owner: Owner, role: str, granted: dict[str, frozenset[str]]
) -> None:
    tables = _tables(owner)
    version = owner.info.server_version
    for verb in VERBS:
        if verb == "MAINTAIN" and version < 170000:
            continue
        # Effective rights: those of PUBLIC and of roles that it is a member of count as well.
        held = {
            table
            for table in tables
            for (has,) in owner.execute(
                "SELECT has_table_privilege(%s, quote_ident(%s), %s)", (role, table, verb)
            )
            if has
        }
        assert held == granted.get(verb, frozenset()), verb


def test_rights_on_single_columns_are_those_that_move_a_head(owner: Owner) -> None:
    rows = owner.execute(
        "SELECT g.grantee::regrole::text, c.relname, a.attname, g.privilege_type "
        "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid, aclexplode(a.attacl) g "
        "WHERE c.relnamespace = 'public'::regnamespace"
    )
    assert set(rows.fetchall()) == COLUMNS


@pytest.mark.promise("P2")
def test_log_can_only_be_read_and_added_to(owner: Owner) -> None:
    assert {verb for verb, tables in WRITER.items() if tables & LOG} == {"SELECT", "INSERT"}
    assert {verb for verb, tables in WRITER.items() if tables & PARTS} == {"SELECT"}
    assert not owner.execute(
        "SELECT g.privilege_type FROM pg_class c, aclexplode(c.relacl) g "
        "WHERE c.relname LIKE 'object\\_events%' AND c.relkind IN ('r', 'p') "
        "AND (g.grantee = 0 OR g.is_grantable AND g.grantee <> c.relowner)"
    ).fetchall()


def test_reader_learns_no_secret_of_a_credential(owner: Owner) -> None:
    for table in OWN:
        assert not owner.execute(
            "SELECT has_any_column_privilege(%s, %s, 'SELECT')", (READER_ROLE, table)
        ).fetchall()[0][0]


def test_functions_with_the_owners_rights_are_called_by_those_who_need_them(owner: Owner) -> None:
    for name, callers in FUNCTIONS.items():
        for role in ROLES:
            rows = owner.execute(
                "SELECT has_function_privilege(%s, oid, 'EXECUTE') FROM pg_proc "
                "WHERE proname = %s AND pronamespace = 'public'::regnamespace",
                (role, name),
            ).fetchall()
            assert rows == [(role in callers,)], (name, role)
    definers = owner.execute(
        "SELECT proname, array_to_string(proconfig, ',') FROM pg_proc "
        "WHERE pronamespace = 'public'::regnamespace AND prosecdef"
    ).fetchall()
    assert {name for name, _ in definers} < FUNCTIONS.keys()
    # Without a fixed search path, a caller's own objects would be found first.
    assert all("search_path=pg_catalog" in config for _, config in definers)


@pytest.mark.parametrize("role", ROLES)
def test_role_owns_nothing_can_make_nothing_and_is_no_one_else(owner: Owner, role: str) -> None:
    assert owner.execute(
        "SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls "
        "OR rolcanlogin OR rolinherit FROM pg_roles WHERE rolname = %s",
        (role,),
    ).fetchall() == [(False,)]
    assert not owner.execute(
        "SELECT FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass "
        "AND refobjid = %s::regrole AND deptype = 'o'",
        (role,),
    ).fetchall()
    assert not owner.execute(
        "SELECT roleid::regrole FROM pg_auth_members WHERE member = %s::regrole", (role,)
    ).fetchall()
    assert owner.execute(
        "SELECT has_database_privilege(%s, current_database(), 'CREATE')", (role,)
    ).fetchall() == [(False,)]
    assert not owner.execute(
        "SELECT nspname FROM pg_namespace WHERE has_schema_privilege(%s, oid, 'CREATE')", (role,)
    ).fetchall()
