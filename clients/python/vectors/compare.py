"""Compares the client's state after some frames with the expected state.

The vectors come on standard input, from TestRandomVectorsOfTheJavaScriptClient and
TestRandomVectorsOfLargeChannels of the gateway: the frames that a gateway sent to a device, and the
state of the model.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tidemark import Device, totals_of

HELLO = {"type": "hello", "instance_id": "i1", "limits": {"frame_bytes": 1 << 20, "message_ids": 1000}}
EMPTY = {"type": "inbox", "channels": [], "threads": [], "totals": totals_of((), ())}
COUNTS = ("unread", "mentions", "direct_mentions", "offline_unread", "read_epoch")


def seq_of(ref: Mapping[str, Any] | None) -> int:
    return int((ref or {}).get("seq", 0))


def channel_of(c: Mapping[str, Any]) -> dict[str, Any]:
    until = c.get("until")
    return {
        **{name: c.get(name, 0) for name in COUNTS},
        "first_unread": seq_of(c.get("first_unread")), "first_mention": seq_of(c.get("first_mention")), "latest": seq_of(c.get("latest")),
        "level": c.get("level", "ALL"), "until": round(datetime.fromisoformat(until).timestamp() * 1000) if until else None,
        "level_after": c.get("level_after"), "ignore_mention_all": c.get("ignore_mention_all", False), "flagged": c.get("flagged", False),
        "archived": c.get("archived", False), "keep": c.get("filed", {}).get("keep", False), "labels": c.get("labels", []),
        "own_labels": c.get("own_labels", []),
    }


def thread_of(t: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: t.get(name, 0) for name in COUNTS if name != "offline_unread"}, "first_unread": seq_of(t.get("first_unread"))}


def equal(got: Any, want: Any, what: str) -> None:
    if got != want:
        raise AssertionError(f"{what}\n{got}, want\n{want}")


def compare(v: dict[str, Any], device: Device) -> None:
    inbox = device.inbox
    channels = {k: channel_of(c) for k, c in inbox.channels.items()}
    for k in channels.keys() & set(v["large"] or ()):  # the first messages may be unknown
        for name in ("first_unread", "first_mention"):
            channels[k][name] = channels[k][name] or v["channels"][k][name]
    for k in channels.keys() & set(v["open"] or ()):  # the pointer may be past the one in the frames
        channels[k] = v["channels"][k]
    equal(channels, v["channels"], "channels")
    equal({"\0".join(k): thread_of(t) for k, t in inbox.threads.items()}, v["threads"], "threads")

    def at_time(now: int) -> dict[str, Any]:
        sums: dict[str, Any] = totals_of(inbox.channels.values(), inbox.threads.values(), now=now)
        return sums

    first = at_time(v["at"][0]["now"])  # the gateway's clock does not move
    told = {"flagged": 0, "archived": {"unread_channels": 0, "mentions": 0}, **inbox.totals}
    told.pop("evaluated_at", None)
    equal(told, first, "the gateway's totals")
    equal(device.badge, first["badge"], "badge")
    for at in () if v["open"] else v["at"]:
        equal(at_time(at["now"]), at["totals"], f"at {at['now']}")
        equal(inbox.by_label(at["now"]), at["by_label"], f"by label at {at['now']}")
    equal(sorted(c["channel_id"] for c in (*inbox.sorted, *inbox.archived)), sorted(inbox.channels), "listed")


async def taken(v: dict[str, Any]) -> Device:
    """A device that got frames from a gateway."""
    done = asyncio.Event()
    frames = [{**HELLO, "user_id": v["user"]}, *([] if v["inbox"] else [EMPTY]), *(v["frames"] or ()), {"type": "end"}]

    async def talk(socket: ServerConnection) -> None:
        for frame in frames:
            await socket.send(json.dumps(frame))
        await done.wait()

    server: Server = await serve(talk, "127.0.0.1", 0)
    try:
        device = Device(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        ended: Callable[[dict[str, Any]], None] = lambda _: done.set()
        device.on("end", ended)
        device.on("disconnected", ended)
        async with device:
            await done.wait()
        return device
    finally:
        server.close()
        await server.wait_closed()


async def main() -> int:
    vectors = json.load(sys.stdin)
    for v in vectors:
        try:
            compare(v, await asyncio.wait_for(taken(v), 60))
        except Exception as e:
            print(f"{v['name']}: {type(e).__name__}: {e}\n{json.dumps(v, indent=1)}")
            return 1
    print(f"{len(vectors)} vectors")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
