"""Bring a database up to this version's schema, one process at a time.

Processes that start together would crash each other in DDL, so a session advisory lock is held
around the whole run. The catalog and the trust rules, which are reviewed data of the code, are
written at the end of each run, and the partitions that the log will need next are made.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final, cast

import psycopg
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.pool import NullPool

from muniment.domain.catalog import LINKS, PROPERTIES
from muniment.domain.errors import Unavailable
from muniment.domain.evidence import TRUST_RULES
from muniment.store.statements import load

LOCK: Final = 0x6D756E696D656E74
"""The advisory lock's number: the bytes of `muniment`."""


def migrate(dsn: str) -> list[str]:
    """Apply what is missing and return the revisions applied, oldest first.

    Raises:
        Unavailable: the database does not answer.
    """
    engine = create_engine(_url(dsn), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, psycopg.Connection)
            raw = cast("psycopg.Connection[tuple[object, ...]]", raw)
            raw.execute(load("migrate.sql")["lock"].encode(), {"lock": LOCK})
            before = _current(connection)
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            _write_reviewed_data(raw)
            raw.execute(load("migrate.sql")["make_partitions"].encode())
            connection.commit()
            after = _current(connection)
    except OperationalError as error:
        raise Unavailable(
            f"The database does not answer: {error.orig}",
            next_step="Check MUNIMENT_DATABASE_URL, or unset it for the private Postgres.",
        ) from error
    except (ProgrammingError, psycopg.errors.InsufficientPrivilege) as error:
        raise Unavailable(
            f"The database refuses to be migrated: {str(error).splitlines()[0]}",
            code="migration_refused",
            next_step="Connect as a role with CREATEROLE that owns the database. If another role "
            "made muniment_writer and muniment_reader: GRANT them to yours WITH ADMIN OPTION.",
        ) from error
    finally:
        engine.dispose()
    script = ScriptDirectory.from_config(_config())
    done = [rev.revision for rev in script.iterate_revisions(after, before)]
    return done[::-1]


def pending(dsn: str) -> list[str]:
    """Return the revisions that are not applied yet, oldest first."""
    engine = create_engine(_url(dsn), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            script = ScriptDirectory.from_config(_config())
            missing = script.iterate_revisions("head", _current(connection))
            return [rev.revision for rev in missing][::-1]
    finally:
        engine.dispose()


def _url(dsn: str) -> str:
    return str(make_url(dsn).set(drivername="postgresql+psycopg").render_as_string(False))


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("muniment.store") / "migrations"))
    return config


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _write_reviewed_data(raw: psycopg.Connection[tuple[object, ...]]) -> None:
    statements = load("migrate.sql")
    with raw.cursor() as cursor:
        cursor.executemany(
            statements["put_property"].encode(),
            [
                {"name": p.name, "description": p.description, "many": p.many}
                for p in PROPERTIES.values()
            ],
        )
        cursor.executemany(
            statements["put_link"].encode(),
            [
                {"name": k.name, "inverse": k.inverse, "description": k.description}
                for k in LINKS.values()
            ],
        )
        cursor.executemany(
            statements["put_rule"].encode(),
            [
                {
                    "rule": r.rule,
                    "origin": r.origin,
                    "channel": r.channel,
                    "confirmation": r.confirmation,
                    "band": int(r.band),
                }
                for r in TRUST_RULES.values()
            ],
        )
