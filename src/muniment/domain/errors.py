"""The error tree: every failure a caller can meet has a stable code and says what to do next.

MunimentError
├── Malformed            the input cannot be read as what it must be
│   └── TooLarge         the input is over a stated limit
├── Unauthenticated      no valid credential
├── CapabilityDenied     the credential's role may not do this
├── NotFound             absent or not visible: the two are one answer
├── Conflict             the caller's picture is out of date (key, version)
├── Refused              a rule of the domain says no; nothing was written
├── Busy                 the queue is full; retry after a stated time
├── Unavailable          a part this needs does not answer
└── EmbeddedError        the private Postgres or Valkey cannot run

Surfaces translate this tree once each. Outcomes that a caller expects (superseded, unchanged)
are return values, not errors.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

Detail: TypeAlias = "str | int | float | bool | list[Detail] | dict[str, Detail] | None"


class MunimentError(Exception):
    """Base of everything that muniment raises on purpose.

    `code` is stable and meant for programs; `message` is one sentence for people; `field` names
    the offending argument; `limit` the bound that was passed; `next_step` what to do about it.
    """

    default_code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        field: str | None = None,
        limit: int | float | str | None = None,
        next_step: str | None = None,
        details: dict[str, Detail] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code or self.default_code
        self.message = message
        self.field = field
        self.limit = limit
        self.next_step = next_step
        self.details = details or {}

    def as_dict(self) -> dict[str, Detail]:
        """Return the error as flat JSON, absent parts left out."""
        parts: dict[str, Detail] = {"code": self.code, "message": self.message}
        if self.field is not None:
            parts["field"] = self.field
        if self.limit is not None:
            parts["limit"] = self.limit
        if self.next_step is not None:
            parts["next_step"] = self.next_step
        return parts | self.details


class Malformed(MunimentError):
    """The input cannot be read as what it must be."""

    default_code = "malformed"


class TooLarge(Malformed):
    """The input is over a limit, which the error states."""

    default_code = "too_large"


class Unauthenticated(MunimentError):
    """There is no credential, or it is unknown, expired or revoked."""

    default_code = "unauthenticated"


class CapabilityDenied(MunimentError):
    """The credential is good, but its role may not do this."""

    default_code = "capability_denied"


class NotFound(MunimentError):
    """What was named is absent or hidden from this reader; the answer is the same."""

    default_code = "not_found"


class Conflict(MunimentError):
    """The caller acted on an outdated picture: an idempotency key or a version does not match."""

    default_code = "conflict"


class Refused(MunimentError):
    """A rule of the domain says no. Nothing was written."""

    default_code = "refused"


class Busy(MunimentError):
    """The writer's queue is full. `details['retry_after_ms']` says when to try again."""

    default_code = "busy"


class Unavailable(MunimentError):
    """A part that this needs, such as the database, does not answer."""

    default_code = "unavailable"


class EmbeddedError(MunimentError):
    """The private Postgres or Valkey cannot be found, started or trusted."""

    default_code = "embedded_failed"
