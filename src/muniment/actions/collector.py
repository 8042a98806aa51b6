"""What is asked of Python's cycle collector by code that makes many values and no cycles.

It walks what lives, again and again, as values are made: that doubled the time of a verification,
and took a quarter of the time of deciding (measured at 55,000 events, and at 256 callers).
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


def settle_collector() -> None:
    """Leave alone what a service made while it started, and look for cycles more rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@contextmanager
def collector_paused() -> Generator[None]:
    """Keep the collector off inside the block, and leave it as it was found."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
