"""Owns short hands for tests of reads: write and look as a principal, and what an answer holds."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import orjson
import pytest

from muniment.actions import Actions
from muniment.domain import parse
from muniment.domain.commands import Command
from muniment.domain.errors import MunimentError
from muniment.reads import Reads
from muniment.reads.arguments import (
    parse_list,
    parse_neighbours,
    parse_open,
    parse_recall,
    parse_trace,
)
from muniment.surfaces.principal import Principal

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One principal at work. Arguments are those of the tools."""

    who: Principal
    actions: Actions
    reads: Reads

    def of(self, who: Principal) -> Desk:
        """Return the desk of another principal."""
        return Desk(who=who, actions=self.actions, reads=self.reads)

    async def do(self, command: Command) -> Answer:
        outcome = await self.actions.perform(self.who.actor, command)
        return cast("Answer", outcome.answer)

    async def say(self, about: str, property_: str, value: object, **more: object) -> Answer:
        """Make one claim and return its result."""
        claim = {"about": about, "property": property_, "value": value} | more
        answer = await self.do(parse.parse_remember({"claims": [claim]}))
        return answer["results"][0]

    async def say_many(self, claims: Iterable[Mapping[str, object]]) -> None:
        """Make many claims, each in a call of its own."""
        commands = [(parse.parse_remember({"claims": [claim]}), None) for claim in claims]
        for outcome in await self.actions.perform_many(self.who.actor, commands):
            assert not isinstance(outcome, MunimentError), outcome

    async def make(self, type_: str, *names: str, **more: object) -> list[str]:
        """Create objects and return their ids."""
        made: list[str] = []
        for name in names:
            ensured = await self.do(parse.parse_ensure({"name": name, "type": type_} | more))
            made.append(ensured["object"]["id"])
        return made

    async def link(self, src: str, link: str, dst: str, **more: object) -> Answer:
        return await self.do(parse.parse_relate({"from": src, "link": link, "to": dst} | more))

    async def merge(self, loser: str, survivor: str) -> Answer:
        raw = {"loser": loser, "survivor": survivor, "reason": "They are the same."}
        return await self.do(parse.parse_merge(raw))

    async def unmerge(self, loser: str) -> Answer:
        return await self.do(parse.parse_unmerge({"loser": loser, "reason": "They differ."}))

    async def set_status(self, about: str, status: str) -> Answer:
        raw = {"about": about, "status": status, "reason": f"It is {status} now."}
        return await self.do(parse.parse_set_status(raw))

    async def recall(self, query: str, **more: object) -> Answer:
        return await self.reads.recall(self.who.reader, parse_recall({"query": query} | more))

    async def open(self, about: str, **more: object) -> Answer:
        query = parse_open({"about": about} | more)
        return await self.reads.open(
            self.who.reader,
            query.ref,
            as_of=query.as_of,
            known_at=query.known_at,
            cursor=query.cursor,
        )

    async def trace(self, about: str, **more: object) -> Answer:
        query = parse_trace({"about": about} | more)
        reader, reads = self.who.reader, self.reads
        if query.property is None:
            return await reads.trace(reader, query.ref, limit=query.limit, cursor=query.cursor)
        return await reads.history(
            reader, query.ref, query.property, limit=query.limit, cursor=query.cursor
        )

    async def neighbours(self, about: str, **more: object) -> Answer:
        query = parse_neighbours({"about": about} | more)
        return await self.reads.neighbours(self.who.reader, query)

    async def list(self, **more: object) -> Answer:
        return await self.reads.list_objects(self.who.reader, parse_list(more))

    async def pages(self, query: str, **more: object) -> list[Answer]:
        """Return all pages of a search."""
        pages = [await self.recall(query, **more)]
        while cursor := pages[-1].get("cursor"):
            pages.append(await self.recall(query, cursor=cursor, **more))
        return pages


def values(answer: Answer) -> list[object]:
    """Return the values that an answer's hits show."""
    return [hit.get("value", hit.get("snippet")) for hit in answer["hits"] if "property" in hit]


def names(answer: Answer) -> list[str]:
    """Return the names of the objects that an answer's hits are about."""
    return [hit["object"]["name"] for hit in answer["hits"]]


def text(answer: object) -> bytes:
    """Return an answer's bytes."""
    return orjson.dumps(answer)


def claims_of(dossier: Answer, property_: str) -> list[Answer]:
    """Return the claims that a dossier shows for a property."""
    return [
        claim
        for group in dossier["claims"]
        if group["property"] == property_
        for claim in group["claims"]
    ]


@asynccontextmanager
async def refused(code: str) -> AsyncGenerator[None]:
    """Expect an error of that code."""
    with pytest.raises(MunimentError) as error:
        yield
    assert error.value.code == code, error.value.as_dict()
    assert error.value.next_step


def new_id() -> str:
    """Return an id that nothing has."""
    return str(UUID(int=0xDEADBEEF))
