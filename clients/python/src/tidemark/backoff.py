"""The wait before the next attempt."""

from __future__ import annotations

import random
from collections.abc import Callable


class Backoff:
    """The bound doubles from ``least`` to ``most`` seconds, and a wait is random in its upper half,
    so that clients do not all reconnect at the same moment."""

    def __init__(self, least: float = 0.25, most: float = 20.0, rand: Callable[[], float] = random.random) -> None:
        if not 0 < least <= most:
            raise ValueError(f"backoff: {least} and {most} make no range")
        self.least, self.most, self._rand, self._tries = least, most, rand, 0

    def next(self, bound: float = 0.0) -> float:
        """The next wait in seconds, with a bound of at least ``bound`` as far as ``most`` allows."""
        bound = min(self.most, max(bound, self.least * 2 ** min(self._tries, 30)))
        self._tries += 1
        return bound / 2 + bound / 2 * self._rand()

    def reset(self) -> None:
        """Starts again, after a connection has proved good."""
        self._tries = 0
