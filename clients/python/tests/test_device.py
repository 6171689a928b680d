"""A device against a gateway whose other end is the test."""

import asyncio
import contextlib
import json
import unittest
from collections.abc import Awaitable, Callable
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tidemark import Backoff, Closed, Device, NotFound, Overflow, ResourceExhausted, Timeout

HELLO = {"type": "hello", "user_id": "ann", "instance_id": "i1", "limits": {"frame_bytes": 1000, "message_ids": 3}}
PATIENCE = 120.0  # for a busy machine


def inbox(unread: int) -> dict[str, Any]:
    return {
        "type": "inbox", "channels": [{"channel_id": "c", "member": True, "unread": unread, "mentions": 0, "latest": {"seq": 7, "at": ""}}],
        "threads": [], "totals": {"unread": unread, "mentions": 0, "unread_channels": 1, "thread_unread": 0, "thread_mentions": 0, "badge": unread},
    }


class Gateway:
    """Runs a function for each connection."""

    def __init__(self, *scripts: Callable[["Gateway", ServerConnection], Awaitable[None]]) -> None:
        self.scripts, self.n, self.paths, self.auth, self.got = scripts, 0, [], [], []

    async def __aenter__(self) -> "Gateway":
        self.server: Server = await serve(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        await self.server.wait_closed()

    async def _serve(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        self.paths.append(socket.request.path)
        self.auth.append(socket.request.headers.get("Authorization", ""))
        script = self.scripts[min(self.n, len(self.scripts) - 1)]
        self.n += 1
        with contextlib.suppress(ConnectionClosed):
            await script(self, socket)

    async def take(self, socket: ServerConnection) -> dict[str, Any]:
        frame = json.loads(await socket.recv())
        self.got.append(frame)
        return frame


async def say(socket: ServerConnection, *frames: dict[str, Any]) -> None:
    for frame in frames:
        await socket.send(json.dumps(frame))


async def welcome(_: Gateway, socket: ServerConnection) -> None:
    await say(socket, HELLO, inbox(1))
    await socket.wait_closed()


def device(url: str, **more: Any) -> Device:
    return Device(url, user_id="ann", backoff=Backoff(0.01, 0.02), **more)


class Devices(unittest.IsolatedAsyncioTestCase):
    async def test_a_snapshot_before_a_badge(self) -> None:
        async with Gateway(welcome) as g, device(g.url, token=lambda: "t1") as d:
            self.assertIsNone(d.badge)
            await asyncio.wait_for(d.ready(), PATIENCE)
            self.assertEqual((d.badge, d.user_id, d.state), (1, "ann", "open"))
            self.assertEqual((g.paths[0], g.auth[0]), ("/v1/socket?user_id=ann", "Bearer t1"))

    async def test_a_command_without_an_answer_is_sent_again_behind_the_focus(self) -> None:
        async def ends(g: Gateway, socket: ServerConnection) -> None:
            await say(socket, HELLO, inbox(1))
            while (await g.take(socket))["type"] != "mark_unread":
                pass
            await socket.close(1012, "restart")

        async def answers(g: Gateway, socket: ServerConnection) -> None:
            await say(socket, {**HELLO, "instance_id": "i2"}, inbox(2))
            while True:
                frame = await g.take(socket)
                await say(socket, {"type": "ack", "id": frame["id"], "after": ["chat.reads/0/1"]})

        lost: list[dict[str, Any]] = []
        tokens = iter(["t1", "t2"])

        async def token() -> str:
            return next(tokens)

        async with Gateway(ends, answers) as g, device(g.url, token=token) as d:
            d.on("disconnected", lost.append)
            await asyncio.wait_for(d.ready(), PATIENCE)
            d.focus("c")
            answer = await asyncio.wait_for(d.mark_unread("c", "m1"), PATIENCE)
            self.assertEqual(answer["after"], ["chat.reads/0/1"])
            self.assertEqual((d.instance_id, d.badge), ("i2", 2))
            self.assertEqual([f["type"] for f in g.got], ["channel.focus", "mark_unread", "channel.focus", "mark_unread"])
            self.assertEqual(g.got[-1]["head_seq"], 7)
            self.assertEqual((lost[0]["code"], lost[0]["reason"]), (1012, "restart"))
            self.assertEqual(g.auth, ["Bearer t1", "Bearer t2"])

    async def test_what_was_refused_as_one_too_many_is_sent_again_in_order(self) -> None:
        async def refuses(g: Gateway, socket: ServerConnection) -> None:
            await say(socket, HELLO, inbox(1))
            first, second = await g.take(socket), await g.take(socket)
            await say(socket, {"type": "error", "id": first["id"], "code": "resource_exhausted", "message": "too many frames"})
            await say(socket, {"type": "ack", "id": second["id"], "after": []})  # with an id that is no longer in use
            for _ in range(2):
                frame = await g.take(socket)
                await say(socket, {"type": "ack", "id": frame["id"], "after": [frame["message_id"]]})
            await socket.wait_closed()

        async with Gateway(refuses) as g, device(g.url) as d:
            await asyncio.wait_for(d.ready(), PATIENCE)
            answers = await asyncio.wait_for(asyncio.gather(d.mark_unread("c", "m1"), d.mark_read("c", "m2")), PATIENCE)
            self.assertEqual([a["after"] for a in answers], [["m1"], ["m2"]])
            self.assertEqual([f["type"] for f in g.got], ["mark_unread", "mark_read"] * 2)
            self.assertEqual(len({f["id"] for f in g.got}), 4)

    async def test_errors(self) -> None:
        async def errors(g: Gateway, socket: ServerConnection) -> None:
            await say(socket, HELLO, inbox(1))
            frame = await g.take(socket)
            await say(socket, {"type": "error", "id": frame["id"], "code": "not_found", "message": "no such channel"})
            await socket.wait_closed()

        async with Gateway(errors) as g:
            d = device(g.url, command_timeout=0.05, max_pending=1)
            with self.assertRaises(Timeout):
                await d.mark_read("c", "m1")  # without a connection
            waiting = asyncio.create_task(d.sync())
            await asyncio.sleep(0)
            with self.assertRaises(Overflow):
                await d.sync()
            await d.close()
            with self.assertRaises(Closed):
                await waiting
            async with device(g.url) as d:
                await asyncio.wait_for(d.ready(), PATIENCE)
                with self.assertRaises(NotFound):
                    await asyncio.wait_for(d.mark_read("secret", "m1"), PATIENCE)
                with self.assertRaises(ResourceExhausted):
                    await asyncio.wait_for(d.mark_read("c", "m" * 2000), PATIENCE)

    async def test_a_silent_gateway_is_asked_and_then_given_up(self) -> None:
        async def silent(g: Gateway, socket: ServerConnection) -> None:
            await say(socket, HELLO, inbox(1))
            while True:
                await g.take(socket)

        async with Gateway(silent, welcome) as g, device(g.url, quiet_timeout=0.05, answer_timeout=0.5) as d:
            again = asyncio.Event()
            d.on("disconnected", lambda f: again.set())
            await asyncio.wait_for(again.wait(), PATIENCE)
            self.assertEqual(g.got[0]["type"], "sync")

    async def test_a_listener_that_throws_disturbs_nobody(self) -> None:
        def throws(_: dict[str, Any]) -> None:
            raise RuntimeError("planned")

        async with Gateway(welcome) as g:
            d = device(g.url)
            seen: list[str] = []
            d.on("inbox", throws)
            d.on("*", lambda f: seen.append(f["type"]))
            with self.assertLogs("tidemark", "ERROR"):
                d.connect()
                await asyncio.wait_for(d.ready(), PATIENCE)
            await d.close()
            self.assertEqual(seen[:2], ["hello", "inbox"])


if __name__ == "__main__":
    unittest.main()
