"""Owns the rules that every module keeps and that no linter knows."""

from __future__ import annotations

import ast
import sys

from tests.architecture.tree import Module, calls, imports, modules, package

LINES = 400

STATEMENTS = {
    "copy_records_to_table",
    "copy_to_table",
    "execute",
    "executemany",
    "fetch",
    "fetchmany",
    "fetchrow",
    "fetchval",
}

# They wait for a process that tells its state in a file only, on a thread without a loop.
MAY_BLOCK = (
    "src/muniment/embedded/",
    "src/muniment/surfaces/cli/seat.py",
    "src/muniment/surfaces/cli/up.py",
)

IDENTITIES = {"Actor", "Reader"}
PRINCIPAL = "src/muniment/surfaces/principal.py"


def test_no_module_is_longer_than_the_limit() -> None:
    assert {m.path: m.lines for m in modules() if m.lines > LINES} == {}


def test_every_module_says_what_it_owns() -> None:
    assert [m.path for m in modules() if not ast.get_docstring(m.tree)] == []


def test_sql_is_run_by_the_store_alone() -> None:
    assert [
        f"{module.path}:{call.lineno} .{name}("
        for module in package()
        if not module.under("src/muniment/store/")
        for name, call in calls(module)
        if name in STATEMENTS and isinstance(call.func, ast.Attribute)
    ] == []


def test_domain_imports_the_standard_library_alone() -> None:
    allowed = set(sys.stdlib_module_names)
    assert [
        f"{module.path}:{line} {name}"
        for module in package()
        if module.under("src/muniment/domain/")
        for name, line in imports(module)
        if name.partition(".")[0] not in allowed and not name.startswith("muniment.domain")
    ] == []


def test_imports_within_the_package_are_absolute() -> None:
    assert [
        f"{module.path}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ] == []


def test_nothing_sleeps_on_the_thread_of_the_event_loop() -> None:
    assert [f"{module.path}:{line}" for module in modules() for line in _sleeps(module)] == []


def test_nothing_is_mocked() -> None:
    assert [
        f"{module.path}:{line} {name}"
        for module in modules()
        for name, line in imports(module)
        if name.startswith(("unittest.mock", "mock.", "pytest_mock"))
    ] == []


def test_actors_and_readers_come_from_the_credential_alone() -> None:
    assert [
        f"{module.path}:{call.lineno} {name}("
        for module in package()
        if module.path != PRINCIPAL
        for name, call in calls(module)
        if name in IDENTITIES
    ] == []


def _sleeps(module: Module) -> list[int]:
    if module.under(*MAY_BLOCK):
        return []
    called = [
        call.lineno
        for name, call in calls(module)
        if name == "sleep"
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "time"
    ]
    return called + [line for name, line in imports(module) if name == "time.sleep"]
