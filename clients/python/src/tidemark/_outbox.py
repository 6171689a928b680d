"""The frames of a device: those that wait for their turn, and those that wait for an answer."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import Closed, Overflow, ResourceExhausted, TidemarkError, Timeout, error_of

_RATE, _BURST = 0.8, 0.5  # the shares of the user's limits that one device uses
_PAUSE = 1.0  # the longest pause after a refusal, in seconds
_MOST_REFUSALS = 8  # of a frame that nobody waits for


class Pace:
    """Decides when the next frame may be sent, with a token bucket like the gateway's for each
    user, but a smaller one.

    Other devices of the user take from the gateway's bucket too. So a refusal empties this one and
    halves its rate, which grows again with each accepted frame.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, rand: Callable[[], float] = random.random) -> None:
        self._now, self._rand = now, rand
        self._full = self._rate = 50 * _RATE
        self._most = self._tokens = 200 * _BURST
        self._at, self._paused_until = now(), 0.0

    def allow(self, limits: Mapping[str, float]) -> None:
        """Sets the limits of a gateway. Missing ones stay as they are."""
        per_second, burst = limits.get("frames_per_second", 0), limits.get("frames_burst", 0)
        if per_second > 0 and per_second * _RATE != self._full:
            self._full = self._rate = per_second * _RATE
        if burst > 0:
            most = max(1, int(burst * _BURST))
            self._tokens = most if self._tokens == self._most else min(self._tokens, most)
            self._most = most

    def take(self) -> bool:
        """Takes a token, if there is one."""
        if self.wait() > 0:
            return False
        self._tokens -= 1
        return True

    def wait(self) -> float:
        """Seconds until there is a token; 0: now."""
        now = self._now()
        self._tokens = min(self._most, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if now < self._paused_until:
            return self._paused_until - now
        return 0.0 if self._tokens >= 1 else (1 - self._tokens) / self._rate + 0.001

    def refused(self) -> None:
        """The gateway has refused a frame because there were too many. Refusals during a pause are
        for frames that were sent before it."""
        now = self._now()
        if now < self._paused_until:
            return
        self._tokens, self._at = 0.0, now
        self._rate = max(self._full / 64, self._rate / 2)
        self._paused_until = now + _PAUSE / 2 * (1 + self._rand())

    def accepted(self) -> None:
        self._rate = min(self._full, self._rate + self._full / 100)


@dataclass(eq=False)
class _Entry:
    frame: dict[str, Any]
    answer: asyncio.Future[dict[str, Any]] | None  # None: for this connection only, without an answer
    n: int
    id: str = ""
    written: bool = False
    since: float = 0.0  # when its timeout began
    refusals: int = 0


class Outbox:
    """Sends frames in the order of the calls, no faster than the gateway accepts them. A command
    without an answer is sent again on the next connection. A command that was refused because there
    were too many is sent again, followed by all later ones about the same channel: a mark that came
    before the read that followed it would undo that read.
    """

    def __init__(self, command_timeout: float, most: int, pace: Pace | None = None) -> None:
        self._timeout, self._most = command_timeout, most
        self.pace = pace or Pace()
        self._limits: Mapping[str, Any] = {}
        self._entries: dict[str, _Entry] = {}
        self._waiting: list[_Entry] = []
        self._write: Callable[[str], Awaitable[None]] | None = None
        self._wake = asyncio.Event()
        self._names, self._asked = itertools.count(1), itertools.count(1)

    async def ask(self, frame: dict[str, Any]) -> dict[str, Any]:
        """Sends a command, on this connection or a later one, and waits for its answer."""
        if sum(e.answer is not None for e in self._entries.values()) >= self._most:
            raise Overflow(f"{self._most} commands wait for an answer already")
        loop = asyncio.get_running_loop()
        entry = _Entry(frame, loop.create_future(), next(self._asked), since=loop.time())
        assert entry.answer is not None
        self._add(entry)
        try:
            while not entry.answer.done():
                left = entry.since + self._timeout - loop.time()
                if left <= 0 and (entry.written or self._write is None):
                    raise Timeout(f"{frame['type']}: no answer within {self._timeout:g} s")
                if left <= 0:
                    entry.since = loop.time()  # others come first on an open connection
                    continue
                await asyncio.wait((entry.answer,), timeout=left)
            return entry.answer.result()
        finally:
            self._forget(entry)

    def say(self, frame: dict[str, Any]) -> None:
        """Sends a frame on this connection only. Without a connection it does nothing."""
        if self._write is not None:
            self._add(_Entry(frame, None, next(self._asked)))

    def open(self, write: Callable[[str], Awaitable[None]], first: list[dict[str, Any]], limits: Mapping[str, Any]) -> None:
        """A connection has opened: sends ``first``, then the frames that outlast a connection."""
        self.close()
        self._limits = limits
        self.pace.allow(limits)
        self._write = write
        again = sorted(self._entries.values(), key=lambda e: e.n)
        for frame in first:
            self.say(frame)
        self._waiting += again
        self._wake.set()

    def close(self) -> None:
        """The connection has ended."""
        self._write = None
        self._waiting.clear()
        self._wake.clear()
        for e in [e for e in self._entries.values() if e.answer is None]:
            self._forget(e)

    def end(self) -> None:
        """Ends the outbox: all commands fail."""
        self.close()
        for e in list(self._entries.values()):
            self._fail(e, Closed(f"{e.frame['type']}: the device was closed"))

    def answered(self, frame: Mapping[str, Any]) -> None:
        """Handles a frame of the gateway that answers one of these."""
        entry = self._entries.get(str(frame.get("id", "")))
        if frame["type"] != "error":
            self.pace.accepted()
            if entry is not None and entry.answer is not None and not entry.answer.done():
                entry.answer.set_result(dict(frame))
            if entry is not None:
                self._forget(entry)
        elif frame.get("code") == "resource_exhausted" and not (entry and self._large(entry)):
            self._refused(entry)
        elif entry is not None:
            self._fail(entry, error_of(str(frame.get("code", "unknown")), str(frame.get("message", ""))))

    async def pump(self) -> None:
        """Sends the waiting frames, as long as the connection lasts."""
        while True:
            await self._wake.wait()
            while self._waiting and self._write is not None:
                if (wait := self.pace.wait()) > 0:
                    await asyncio.sleep(wait)
                    continue
                entry = self._waiting.pop(0)
                text = json.dumps({**entry.frame, "id": entry.id}, ensure_ascii=False, separators=(",", ":"))
                size, most = len(text.encode()), self._limits.get("frame_bytes")
                if most and size > most:  # the gateway would close the connection because of it, and the next one too
                    self._fail(entry, ResourceExhausted(f"{entry.frame['type']}: {size} bytes are more than the {most} that the gateway takes in a frame"))
                    continue
                self.pace.take()
                if not entry.written:
                    entry.written, entry.since = True, asyncio.get_running_loop().time()
                await self._write(text)
            self._wake.clear()

    def _refused(self, entry: _Entry | None) -> None:
        self.pace.refused()
        if entry is None:
            return  # it was already sent again, or nobody waits for it any more
        entry.refusals += 1
        if entry.refusals > _MOST_REFUSALS and entry.answer is None:
            self._forget(entry)
            return
        again = [
            e for e in sorted(self._entries.values(), key=lambda e: e.n)
            if e not in self._waiting and e.n >= entry.n and e.frame.get("channel_id") == entry.frame.get("channel_id")
        ]
        for e in again:  # with new ids: the answer to the first sending is not the answer to the second
            del self._entries[e.id]
            self._name(e)
        self._waiting[:0] = again
        self._wake.set()

    def _large(self, entry: _Entry) -> bool:
        """Whether a command names more messages than the gateway accepts in one command."""
        return len(entry.frame.get("message_ids", ())) > int(self._limits.get("message_ids", 1 << 31))

    def _add(self, entry: _Entry) -> None:
        self._name(entry)
        if self._write is not None:
            self._waiting.append(entry)
            self._wake.set()

    def _name(self, entry: _Entry) -> None:
        entry.id = f"{entry.frame['type']}-{next(self._names)}"
        self._entries[entry.id] = entry

    def _fail(self, entry: _Entry, err: TidemarkError) -> None:
        if entry.answer is not None and not entry.answer.done():
            entry.answer.set_exception(err)
        self._forget(entry)

    def _forget(self, entry: _Entry) -> None:
        self._entries.pop(entry.id, None)
        if entry in self._waiting:
            self._waiting.remove(entry)
