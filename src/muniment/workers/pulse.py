"""The sign of life that a worker leaves in the queue, and how old it is.

Age is by the queue server's clock alone, so machines whose clocks differ agree on it.
"""

from __future__ import annotations

from typing import Any, Final, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from muniment.domain.errors import Unavailable

KEY: Final = "muniment:worker:pulse"
KEPT_SECONDS: Final = 7 * 24 * 3600


async def beat(queue: Redis) -> None:
    """Leave a sign of life.

    Raises:
        RedisError: the queue does not answer.
    """
    await queue.set(KEY, await _now(queue), ex=KEPT_SECONDS)


async def age(url: str, *, within: float = 2.0) -> float | None:
    """Return the seconds since the last sign of life, None when there never was one.

    Raises:
        Unavailable: the queue does not answer.
    """
    queue = connect(url, within=within)
    try:
        last = await queue.get(KEY)
        now = await _now(queue)
    except (RedisError, OSError) as error:
        raise Unavailable(
            f"The queue does not answer: {error}",
            code="queue_unavailable",
            next_step="Reads and writes go on without it. Check MUNIMENT_REDIS_URL.",
        ) from error
    finally:
        await queue.aclose()
    return None if last is None else max(0.0, now - float(cast("bytes", last)))


def connect(url: str, *, within: float) -> Redis:
    """Return a client of the queue at `url`; nothing is sent yet."""
    # redis-py's own types leave this function's parameters open.
    make = cast("Any", Redis).from_url
    return cast("Redis", make(url, socket_timeout=within, socket_connect_timeout=within))


async def _now(queue: Redis) -> float:
    seconds, micros = cast("tuple[int, int]", await cast("Any", queue).time())
    return seconds + micros / 1e6
