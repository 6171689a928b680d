"""What a device knows of a user's channels, and the sums over them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .stamps import dominates
from .times import millis

NO_TOTALS: Mapping[str, Any] = {"unread": 0, "mentions": 0, "unread_channels": 0, "thread_unread": 0, "thread_mentions": 0}


def level_at(channel: Mapping[str, Any], now: int | None = None) -> str:
    """The level at which a channel enters the badge at a time in Unix milliseconds."""
    now = int(time.time() * 1000) if now is None else now
    if channel.get("until") and millis(channel["until"]) <= now:
        return str(channel.get("level_after", "ALL"))
    return str(channel.get("level", "NONE" if channel.get("muted") else "ALL"))


def totals_of(
    channels: Iterable[Mapping[str, Any]], threads: Iterable[Mapping[str, Any]], *, now: int | None = None, label: str | None = None
) -> dict[str, Any]:
    """The sums over channels and their threads at one time, as the gateway and the queries compute
    them; with a label, over the channels with that label."""
    archived = {"unread_channels": 0, "mentions": 0}
    t: dict[str, Any] = {
        "unread": 0, "mentions": 0, "unread_channels": 0, "thread_unread": 0, "thread_mentions": 0, "unread_threads": 0, "badge": 0,
        "flagged": 0, "archived": archived,
    }
    counted: dict[str, str] = {}
    for c in channels:
        if c.get("member") is False or (label is not None and label not in c.get("labels", ())):
            continue
        flagged = bool(c.get("flagged"))
        to_see = c["unread"] > 0 or flagged
        if c.get("archived"):
            archived["unread_channels"] += to_see
            archived["mentions"] += c["mentions"]
            continue
        t["flagged"] += flagged
        level = level_at(c, now)
        if level == "NONE":
            continue
        counted[c["channel_id"]] = level
        t["unread"] += c["unread"]
        t["mentions"] += c["mentions"]
        t["unread_channels"] += to_see
        t["badge"] += (c["mentions"] if level == "MENTIONS" else c["unread"]) or int(flagged)
    for r in threads:
        level = counted.get(r["channel_id"], "")
        if not level or r.get("followed") is False:
            continue
        t["thread_unread"] += r["unread"]
        t["thread_mentions"] += r["mentions"]
        t["unread_threads"] += r["unread"] > 0
        t["badge"] += r["mentions"] if level == "MENTIONS" else r["unread"]
    return t


def _order(c: Mapping[str, Any]) -> tuple[bool, int, str]:
    return not (c["unread"] > 0 or c.get("flagged")), -millis(c.get("latest", {}).get("at")), c["channel_id"]


@dataclass(frozen=True)
class Inbox:
    """What one user sees, as far as the gateway has sent it. It is immutable: applying a frame
    returns a new one.

    A snapshot replaces everything. An update replaces one channel or thread, unless the current
    stamp dominates the update's and differs: then the update is older.
    """

    channels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    threads: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    totals: Mapping[str, Any] = field(default_factory=lambda: NO_TOTALS)
    known: bool = False  # false until the first snapshot: then a missing count is not zero

    @property
    def badge(self) -> int | None:
        """The number for a launcher icon; None until the first snapshot."""
        if not self.known:
            return None
        return int(self.totals.get("badge", self.totals["unread"] + self.totals["thread_unread"]))

    @property
    def sorted(self) -> list[Mapping[str, Any]]:
        """The channels in the order of a list, without archived ones."""
        return sorted((c for c in self.channels.values() if not c.get("archived")), key=_order)

    @property
    def archived(self) -> list[Mapping[str, Any]]:
        """The archived channels, in the same order."""
        return sorted((c for c in self.channels.values() if c.get("archived")), key=_order)

    def by_label(self, now: int | None = None) -> dict[str, dict[str, Any]]:
        """All labels, each with the totals of its channels."""
        labels = sorted({label for c in self.channels.values() for label in c.get("labels", ())})
        return {label: totals_of(self.channels.values(), self.threads.values(), now=now, label=label) for label in labels}

    @staticmethod
    def of(frame: Mapping[str, Any]) -> Inbox:
        """The inbox of a snapshot."""
        return Inbox(
            {c["channel_id"]: c for c in frame.get("channels", ())},
            {(t["channel_id"], t["thread_id"]): t for t in frame.get("threads", ())},
            frame.get("totals", NO_TOTALS), True,
        )

    def with_update(self, update: Mapping[str, Any]) -> Inbox:
        """This inbox with one channel or thread replaced; the same inbox if the update is older.
        Before the first snapshot nothing can be updated."""
        if not self.known:
            return self
        entry = {k: v for k, v in update.items() if k not in ("type", "totals")}
        totals = update.get("totals", self.totals)
        if entry.get("thread_id"):
            key = entry["channel_id"], entry["thread_id"]
            if _older(self.threads.get(key), entry):
                return self
            threads = {**self.threads, key: entry}
            if entry.get("followed") is False:
                del threads[key]
            return replace(self, threads=threads, totals=totals)
        if _older(self.channels.get(entry["channel_id"]), entry):
            return self
        channels = {**self.channels, entry["channel_id"]: entry}
        if entry.get("member") is False:
            del channels[entry["channel_id"]]
        return replace(self, channels=channels, totals=totals)


def _older(was: Mapping[str, Any] | None, entry: Mapping[str, Any]) -> bool:
    a, b = (was or {}).get("stamp"), entry.get("stamp")
    return bool(a and b and a != b and dominates(a, b))
