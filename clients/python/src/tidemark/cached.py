"""Reads what the cache role wrote to Redis, without a node (docs/redis.md). Only JSON values, the
default of ``--redis-values``.

A missing key is a miss, never zero: :class:`Miss` means that the query service must be asked.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .errors import TidemarkError
from .times import millis

if TYPE_CHECKING:
    import redis
    import redis.asyncio

EPOCH, UPDATED, LISTING = "tidemark:epoch", "tidemark:channels-updated", "tidemark:thread-listing"
_MOST_LISTED = 1000
_LISTED_FOR = 30 * 24 * 3600 * 1000


class Miss(TidemarkError):
    """Redis does not have the answer: ask the query service. It is not zero."""

    code = "miss"


def escape_id(value: str) -> str:
    """An id, escaped as in a key."""
    return value.replace("%", "%25").replace(":", "%3A")


def inbox_key(user_id: str) -> str:
    return "inbox:" + escape_id(user_id)


def threads_key(user_id: str) -> str:
    return "inbox-threads:" + escape_id(user_id)


def channel_key(channel_id: str) -> str:
    return "channel-latest:" + escape_id(channel_id)


_FAMILIES = ("inbox", "pointers", "channels", "threads")


def families_of(epoch: str | None) -> set[str]:
    """The families of keys in Redis. Raises Miss while it is not complete, or has a format that
    this reader does not know."""
    if epoch is None:
        raise Miss("redis key tidemark:epoch is missing: Redis is not complete")
    kind = epoch.partition("/")[0]
    if kind == "4":
        return set(_FAMILIES)
    version, _, rest = kind.partition(":")
    values, _, families = rest.partition(":")
    if version == "5" and values == "json":
        return set(families.split(","))
    if version == "5" and values == "packed":
        raise Miss("Redis has packed values: call tidemark_inbox (FCALL_RO), or ask the query service")
    raise Miss(f"Redis has the format {kind!r}, which this reader does not know")


def positions(text: str) -> list[tuple[int, int]]:
    """The runs of ``3,7-9``."""
    out = []
    for run in text.split(",") if text else ():
        low, _, high = run.partition("-")
        out.append((int(low), int(high or low)))
    return out


def _within(runs: Iterable[tuple[int, int]], above: int, upto: int) -> Iterator[tuple[int, int]]:
    for low, high in runs:
        low, high = max(low, above + 1), min(high, upto)
        if low <= high:
            yield low, high


def _size(runs: Iterable[tuple[int, int]]) -> int:
    return sum(high - low + 1 for low, high in runs)


def _union(*sets: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for low, high in sorted(r for s in sets for r in s):
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return out


def _minus(runs: list[tuple[int, int]], less: list[tuple[int, int]]) -> int:
    """The number of positions of ``runs`` that are not in ``less``."""
    return _size(_union(runs, less)) - _size(less)


def derive(entry: Mapping[str, Any], channel: Mapping[str, str] | None) -> tuple[int, int, int] | None:
    """Unread, mentions and direct mentions of a large channel from its record; None if the lists
    are not complete."""
    if channel is None or entry.get("ask"):
        return None
    excluded, mentioned = positions(entry.get("excluded", "")), positions(entry.get("mentioned", ""))
    head, above = int(channel["message_pos"]), max(entry.get("read_pos", 0), int(channel["purged_pos"]))
    if above >= head:
        return 0, 0, 0
    ignore_all = entry.get("ignore_mention_all", False)
    if (
        int(channel["holes_floor"]) > above or (not ignore_all and int(channel["alls_floor"]) > above)
        or _size(excluded) >= _MOST_LISTED or _size(mentioned) >= _MOST_LISTED
    ):
        return None
    gone = _union(_within(positions(channel["holes"]), above, head), _within(excluded, above, head))
    direct = _union(_within(mentioned, above, head))
    either = direct if ignore_all else _union(direct, _within(positions(channel["alls"]), above, head))
    return head - above - _size(gone), _minus(either, gone), _minus(direct, gone)


def _ms(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"


class _Entry:
    """A value of ``inbox`` or ``inbox-threads``, and what is derived from it."""

    def __init__(self, channel: str, thread: str, value: str) -> None:
        if value[:1] != "{":
            raise Miss("Redis has packed values: call tidemark_inbox (FCALL_RO), or ask the query service")
        self.channel, self.thread = channel, thread
        self.raw: dict[str, Any] = json.loads(value)
        raw = self.raw
        self.large: bool = raw["large"]
        self.known = not self.large
        self.unread: int = raw.get("unread", 0)
        self.mentions: int = raw.get("mentions", 0)
        self.direct: int = raw.get("direct_mentions", 0)
        self.latest_at: int | None = millis(raw.get("latest_at", "")) or None
        self.level: str = raw.get("level", "NONE" if raw.get("muted") else "ALL")
        self.level_after: str = raw.get("level_after", "ALL")
        self.until = millis(raw.get("until"))
        self.flagged: bool = raw.get("flagged", False)
        self.filed: dict[str, Any] | None = raw.get("filed")
        self.own: list[str] = raw.get("labels", [])
        self.labels = self.own
        self.archived = False

    def at(self, now: int) -> None:
        """Evaluates the level at a time."""
        if self.until and now >= self.until:
            self.level, self.until = self.level_after, 0

    def forget(self) -> None:
        self.known, self.unread, self.mentions, self.direct = False, 0, 0, 0

    def settle(self, channel: Mapping[str, str] | None) -> None:
        """Adds the numbers from the channel's record; None: there is none."""
        keep = bool(self.filed and self.filed["keep"])
        filing = self.filed is not None and not keep
        if channel is None:
            self.archived = keep
            if filing:
                self.forget()
            return
        holds = self.filed is not None and (keep or int(channel["message_pos"]) <= self.filed["pos"]) and not (filing and self.raw.get("ask"))
        self.archived = channel.get("archived") == "true" or holds
        self.labels = sorted({*json.loads(channel.get("labels") or "[]"), *self.own})
        if self.large:
            self.latest_at = millis(channel.get("latest_at", "")) or None
            counts = derive(self.raw, channel)
            if counts is None:
                self.forget()
            else:
                self.known, (self.unread, self.mentions, self.direct) = True, counts

    def _counts(self, out: dict[str, Any]) -> None:
        if self.known:
            out.update(unread=self.unread, mentions=self.mentions, direct_mentions=self.direct)
        if first := self.raw.get("first_unread_id"):
            out["first_unread"] = {"message_id": first}
        if mention := self.raw.get("first_mention"):
            out["first_mention"] = mention
        out.update(last_read={"seq": self.raw["last_read_seq"]}, read_epoch=self.raw["read_epoch"], stamp=self.raw["stamp"])

    def _setting(self, out: dict[str, Any]) -> None:
        out.update(level=self.level, muted=self.level == "NONE", archived=self.archived)
        if self.until:
            out.update(until=_ms(self.until), level_after=self.level_after)

    def _latest(self, out: dict[str, Any], name: str) -> None:
        if self.latest_at is not None:
            out[name] = {"at": _ms(self.latest_at)} if self.large else {"seq": self.raw["latest_seq"], "at": _ms(self.latest_at)}

    def channel_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"channel_id": self.channel, "member": True, "known": self.known}
        self._counts(out)
        out["offline_unread"] = self.raw.get("offline_unread", 0)
        self._latest(out, "latest")
        self._setting(out)
        out.update(
            flagged=self.flagged, ignore_mention_all=self.raw.get("ignore_mention_all", False), large=self.large, labels=self.labels,
            own_labels=self.own,
        )
        if self.filed is not None:
            out["filed"] = self.filed
        if line := self.raw.get("line"):
            out["line"] = line
        return out

    def thread_json(self, of: _Entry) -> dict[str, Any]:
        out: dict[str, Any] = {"channel_id": self.channel, "thread_id": self.thread}
        self._counts(out)
        self._latest(out, "last_reply")
        if touched := self.raw.get("touched_at"):
            out["touched_at"] = touched
        of._setting(out)
        return out


def _zeros() -> dict[str, Any]:
    return {
        "unread": 0, "mentions": 0, "unread_channels": 0, "thread_unread": 0, "thread_mentions": 0, "badge": 0, "unread_threads": 0,
        "flagged": 0, "archived": {"unread_channels": 0, "mentions": 0}, "unknown": 0,
    }


def _add_channel(t: dict[str, Any], e: _Entry) -> None:
    muted = e.level == "NONE"
    if not e.known and not (muted and not e.archived and e.filed is None):
        t["unknown"] += 1
        return
    news = e.unread > 0 or e.flagged
    if e.archived:
        t["archived"]["unread_channels"] += news
        t["archived"]["mentions"] += e.mentions
        return
    t["flagged"] += e.flagged
    if muted:
        return
    t["unread"] += e.unread
    t["mentions"] += e.mentions
    t["unread_channels"] += news
    t["badge"] += (e.mentions if e.level == "MENTIONS" else e.unread) or int(e.flagged)


def _add_thread(t: dict[str, Any], e: _Entry, of: _Entry) -> None:
    if of.archived or of.level == "NONE":
        return
    t["thread_unread"] += e.unread
    t["thread_mentions"] += e.mentions
    t["unread_threads"] += e.unread > 0
    t["badge"] += e.mentions if of.level == "MENTIONS" else e.unread


class Snapshot:
    """Redis's values of a user, read in two steps: the hashes, then the records of the channels in
    :attr:`asks`."""

    def __init__(
        self, epoch: str | None, inbox: Mapping[str, str], threads: Mapping[str, str], updated: bool, listing: str | None, now: int
    ) -> None:
        self._families = families_of(epoch)
        if not inbox:
            raise Miss("Redis has nothing of the user: they are in no channel, or unknown")
        self._updated, self._always, self._now = updated, listing == "always", now
        self._channels = {name: _Entry(name, "", value) for name, value in inbox.items()}
        self._threads: list[_Entry] = []
        for name, value in threads.items() if "threads" in self._families else ():
            channel, _, thread = name.partition("\0")
            self._threads.append(_Entry(channel, thread, value))
        for e in self._channels.values():
            e.at(now)
        self.asks = [
            name for name, e in self._channels.items()
            if "channels" in self._families and (updated or e.large or e.filed is not None)
        ]

    def view(self, records: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
        """The answer, from the requested records; an empty one is missing."""
        for name, e in self._channels.items():
            if "channels" not in self._families:
                e.settle(None)
                if self._updated:
                    e.forget()
            elif name in self.asks:
                e.settle(records.get(name) or None)
        channels = sorted(self._channels.values(), key=lambda e: (e.known and not e.unread and not e.flagged, *_newest(e)))
        newest = max((e.latest_at or -math.inf for e in [*channels, *self._threads]), default=-math.inf)
        threads = sorted(
            (
                e for e in self._threads
                if e.channel in self._channels and (self._always or not newest - (millis(e.raw.get("touched_at")) or -math.inf) > _LISTED_FOR)
            ),
            key=lambda e: (not e.unread, *_newest(e)),
        )
        totals, labelled = _zeros(), {label: _zeros() for e in channels for label in e.labels}
        for e in channels:
            for t in [totals, *(labelled[label] for label in e.labels)]:
                _add_channel(t, e)
        for e in threads:
            of = self._channels[e.channel]
            for t in [totals, *(labelled[label] for label in of.labels)]:
                _add_thread(t, e, of)
        return {
            "channels": [e.channel_json() for e in channels],
            "threads": [e.thread_json(self._channels[e.channel]) for e in threads],
            "totals": totals, "totals_by_label": dict(sorted(labelled.items())), "evaluated_at": _ms(self._now),
            "without": [f for f in _FAMILIES if f not in self._families],
        }


def _newest(e: _Entry) -> tuple[float, bytes, bytes]:
    return -(e.latest_at if e.latest_at is not None else -math.inf), e.channel.encode(), e.thread.encode()


def _text(value: Any) -> str | None:
    return value.decode() if isinstance(value, bytes) else value


def _texts(hash: Mapping[Any, Any]) -> dict[str, str]:
    return {_text(k) or "": _text(v) or "" for k, v in hash.items()}


def _snapshot(answers: list[Any], now: int | None) -> Snapshot:
    inbox, threads, updated, listing, epoch = answers  # the epoch was read after the hashes: if it is there, they are complete
    return Snapshot(
        _text(epoch), _texts(inbox), _texts(threads), updated is not None, _text(listing), int(time.time() * 1000) if now is None else now
    )


def _ask(pipe: Any, user_id: str) -> Any:
    return pipe.hgetall(inbox_key(user_id)).hgetall(threads_key(user_id)).get(UPDATED).get(LISTING).get(EPOCH)


class CacheReader:
    """Reads what the cache role wrote:
    ``CacheReader(redis.Redis()).view("ann")["totals"]["badge"]``.

    A view has the names of ``GetInbox``. If ``known`` is false, Redis does not have the counts of
    the channel; ``totals.unknown`` counts these channels. It takes two round trips.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._redis: Any = client

    def view(self, user_id: str, *, now: int | None = None) -> dict[str, Any]:
        """The user's channels, listed threads and totals, as of a time in Unix milliseconds. Raises Miss."""
        snapshot = _snapshot(_ask(self._redis.pipeline(transaction=False), user_id).execute(), now)
        records: dict[str, dict[str, str]] = {}
        if snapshot.asks:
            pipe = self._redis.pipeline(transaction=False)
            for channel in snapshot.asks:
                pipe.hgetall(channel_key(channel))
            records = {c: _texts(r) for c, r in zip(snapshot.asks, pipe.execute())}
        return snapshot.view(records)


class AsyncCacheReader:
    """:class:`CacheReader` for asyncio."""

    def __init__(self, client: redis.asyncio.Redis) -> None:
        self._redis: Any = client

    async def view(self, user_id: str, *, now: int | None = None) -> dict[str, Any]:
        """The user's channels, listed threads and totals, as of a time in Unix milliseconds. Raises Miss."""
        snapshot = _snapshot(await _ask(self._redis.pipeline(transaction=False), user_id).execute(), now)
        records: dict[str, dict[str, str]] = {}
        if snapshot.asks:
            pipe = self._redis.pipeline(transaction=False)
            for channel in snapshot.asks:
                pipe.hgetall(channel_key(channel))
            records = {c: _texts(r) for c, r in zip(snapshot.asks, await pipe.execute())}
        return snapshot.view(records)
