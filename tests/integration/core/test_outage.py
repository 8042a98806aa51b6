"""The database goes away: writes say so, nothing is half done, and what comes back goes on."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import asyncpg
import pytest

from muniment.actions import Actions, maintenance, writer
from muniment.domain.errors import Unavailable
from muniment.embedded.postgres import EmbeddedPostgres
from muniment.store.database import Database
from muniment.store.migrate import migrate
from muniment.store.workspaces import Workspace, ensure_workspace
from muniment.surfaces.principal import Principal, local_operator
from tests.integration.core import calls
from tests.integration.core.calls import claim, create, ensure


@pytest.fixture
def private() -> Generator[EmbeddedPostgres]:
    """A Postgres that the test may stop."""
    home = Path(tempfile.mkdtemp(prefix="muniment-outage-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    migrate(postgres.start())
    yield postgres
    postgres.start()
    postgres.stop_if_last()
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.promise("P1")
async def test_write_to_a_stopped_database_is_an_error_and_has_one_effect_after(
    private: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_OUTAGE_SECONDS", 0.2)
    database = await Database.connect(private.address)
    workspace = await ensure_workspace(database, "default")
    actor = local_operator(workspace.workspace_id).actor
    actions = Actions(database)
    await actions.perform(actor, ensure("Note", "before"))
    private.stop_if_last()
    command = ensure("Note", "while away")
    first = asyncio.create_task(actions.perform(actor, command, key="k"))
    await asyncio.sleep(0)
    later = [asyncio.create_task(actions.perform(actor, command, key="k")) for _ in range(3)]
    for task in (first, *later):
        with pytest.raises(Unavailable) as caught:
            await task
        assert caught.value.code == "unavailable"
        assert "same key" in (caught.value.next_step or "")
    with pytest.raises(Unavailable):
        await Database.connect(database.dsn)
    private.start()
    answers = [
        (await actions.perform(actor, ensure("Note", "while away"), key="k")).answer
        for _ in range(2)
    ]
    assert answers[0]["outcome"] == "created"
    assert answers[0] == answers[1]
    await actions.close()
    assert (await calls.require_clean(database, workspace.workspace_id)).pos == 2
    await database.close()


@pytest.mark.promise("P1")
@pytest.mark.promise("P5")
async def test_unmerge_whose_connection_is_killed_on_the_way_is_whole_or_not_at_all(
    database: Database, workspace: Workspace, operator: Principal
) -> None:
    """The server process is ended at each statement of the unmerge in turn."""
    who = operator.actor
    actions = Actions(database)
    a, b = [await create(actions, who, "Person", name) for name in "ab"]
    await actions.perform(who, claim(a, "email", "a"))
    await actions.perform(who, calls.link(a, "related_to", b))
    before = await calls.dump_text(database, workspace.workspace_id)
    outsider = await asyncpg.connect(database.dsn)
    # A sequence counts on in spite of a rollback: the first to pass ends its own connection.
    await outsider.execute("CREATE SEQUENCE falls")
    await outsider.execute(
        "CREATE FUNCTION fall() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN "
        "IF nextval('falls') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); "
        "PERFORM pg_sleep(0); END IF; RETURN NULL; END $$"
    )
    for table in ("object_events_0000", "objects", "assertions", "links", "search_documents"):
        await actions.perform(who, calls.merge(a, b))
        merged = await calls.dump_text(database, workspace.workspace_id)
        await outsider.execute("ALTER SEQUENCE falls RESTART")
        await outsider.execute(
            f"CREATE TRIGGER fall AFTER INSERT OR UPDATE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION fall()"
        )
        waiting = asyncio.create_task(actions.perform(who, calls.unmerge(a), key=table))
        seen: set[str] = set()
        while not waiting.done():
            seen.add(await calls.dump_text(database, workspace.workspace_id))
        assert (await waiting).answer["outcome"] == "unmerged"
        assert await outsider.fetchval("SELECT last_value FROM falls") > 1
        assert seen <= {merged, before}
        assert await calls.dump_text(database, workspace.workspace_id) == before
        await calls.require_clean(database, workspace.workspace_id)
        await outsider.execute(f"DROP TRIGGER fall ON {table}")
    await outsider.close()
    await actions.close()


async def test_verify_and_dump_of_a_stopped_database_are_errors(
    private: EmbeddedPostgres,
) -> None:
    database = await Database.connect(private.address)
    workspace = await ensure_workspace(database, "default")
    private.stop_if_last()
    with pytest.raises(Unavailable):
        await maintenance.verify(database, workspace.workspace_id)
    with pytest.raises(Unavailable):
        await maintenance.rebuild(database, workspace.workspace_id)
    private.start()
    await database.close()
