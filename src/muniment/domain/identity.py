"""Who acts and who reads.

`Actor` and `Reader` are built in `surfaces/principal.py` from a credential and nowhere else; no
argument of a tool can make or change one. A door through which a thing came (`Via`) is part of
the actor, since it decides how far the thing is trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

FLEET: Final = "fleet"
"""The audience of a row that everyone in the workspace may read."""

PRIVATE: Final = "private"
"""What a caller writes for its own private audience, whose id it need not know."""

OPERATOR_ID: Final = UUID(int=1)
"""The local operator: whoever holds MUNIMENT_HOME. Present in each workspace without an event."""
SYSTEM_ID: Final = UUID(int=2)
"""muniment itself: housekeeping that no person asked for."""


class Role(StrEnum):
    """What a principal may do. The table of capabilities is `CAPABILITIES`."""

    OPERATOR = "operator"
    AGENT = "agent"
    SCRIBE = "scribe"
    INGESTOR = "ingestor"
    REVIEWER = "reviewer"
    READER = "reader"
    SYSTEM = "system"


class Via(StrEnum):
    """The door that an act came through."""

    CONSOLE = "console"
    MCP = "mcp"
    INGEST = "ingest"
    IMPORT = "import"
    INTERNAL = "internal"


class Capability(StrEnum):
    """One kind of act. Each command names the one it needs; each role holds a set."""

    READ = "read"
    REMEMBER = "remember"
    INGEST = "ingest"
    LIFECYCLE = "lifecycle"
    ADMINISTER = "administer"


CAPABILITIES: Final[dict[Role, frozenset[Capability]]] = {
    Role.OPERATOR: frozenset(Capability),
    Role.AGENT: frozenset({Capability.READ, Capability.REMEMBER}),
    Role.SCRIBE: frozenset({Capability.READ}),
    Role.INGESTOR: frozenset({Capability.READ, Capability.INGEST}),
    Role.REVIEWER: frozenset({Capability.READ}),
    Role.READER: frozenset({Capability.READ}),
    Role.SYSTEM: frozenset({Capability.READ, Capability.INGEST, Capability.ADMINISTER}),
}


def private_audience(principal_id: UUID) -> str:
    """Return the audience that holds one principal."""
    return f"principal:{principal_id}"


def project_audience(object_id: UUID) -> str:
    """Return the audience that holds everyone who works on one project."""
    return f"project:{object_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Whose eyes a read is made with.

    workspace_id: the only workspace that it can see.
    principal_id, name, role: who it is.
    audiences: which rows it may see; always holds `fleet` and its own private audience.
    sees_all: the operator's eyes, which see each audience of the workspace.
    """

    workspace_id: UUID
    principal_id: UUID
    name: str
    role: Role
    audiences: frozenset[str]
    sees_all: bool = False

    def may_see(self, audience: str) -> bool:
        """Say whether a row of `audience` exists for this reader."""
        return self.sees_all or audience in self.audiences


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who a command is carried out for, and by which door it came.

    reader: the eyes it resolves names with: what it cannot see, it cannot aim at.
    via: the door.
    source: the source that its claims are made under when it names none.
    owned_sources: further sources that its credential may speak for; a trailing `*` owns a prefix.
    audience: who may read what it writes when it says nothing.
    """

    reader: Reader
    via: Via
    source: str
    owned_sources: tuple[str, ...] = ()
    audience: str = FLEET

    @property
    def principal_id(self) -> UUID:
        return self.reader.principal_id

    @property
    def role(self) -> Role:
        return self.reader.role

    @property
    def workspace_id(self) -> UUID:
        return self.reader.workspace_id

    def can(self, capability: Capability) -> bool:
        """Say whether the actor's role holds `capability`."""
        return capability in CAPABILITIES[self.role]

    def owns(self, source: str) -> bool:
        """Say whether the actor may make a claim under `source`."""
        return source == self.source or any(
            source.startswith(owned[:-1]) if owned.endswith("*") else source == owned
            for owned in self.owned_sources
        )
