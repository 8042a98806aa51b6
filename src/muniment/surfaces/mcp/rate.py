"""How often one principal may call: a bucket of tokens each, filled by the clock."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

_FORGET_AT: Final = 10_000


class RateLimit:
    """At most `per_minute` calls at once, and as many again in each minute that follows.

    Buckets live in this process: copies of the service count apart, which is enough to keep one
    caller from starving the others.
    """

    def __init__(self, per_minute: int) -> None:
        self._capacity = float(per_minute)
        self._per_second = per_minute / 60
        self._buckets: dict[Hashable, tuple[float, float]] = {}
        self._forget_at = _FORGET_AT

    @property
    def remembered(self) -> int:
        """How many callers have a bucket."""
        return len(self._buckets)

    def take(self, caller: Hashable, now: float) -> float:
        """Count one call and return 0, or, when there were too many, the seconds to wait.

        now: seconds of a clock that only goes forward.
        """
        left, since = self._buckets.get(caller, (self._capacity, now))
        left = min(self._capacity, left + (now - since) * self._per_second)
        if left < 1:
            self._buckets[caller] = (left, now)
            return (1 - left) / self._per_second
        if len(self._buckets) >= self._forget_at:
            self._forget_full(now)
        self._buckets[caller] = (left - 1, now)
        return 0.0

    def _forget_full(self, now: float) -> None:
        minute = self._capacity / self._per_second
        kept = {who: at for who, at in self._buckets.items() if now - at[1] < minute}
        self._buckets = kept
        # Where all are still in use, the next look is put off, so that it stays cheap on average.
        self._forget_at = max(_FORGET_AT, 2 * len(kept))
