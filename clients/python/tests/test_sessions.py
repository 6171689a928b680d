"""Plays the sessions that all clients share: clients/conformance/sessions.json. The test is the
gateway."""

import asyncio
import contextlib
import json
import unittest
from pathlib import Path
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tidemark import Backoff, Device, TidemarkError

SESSIONS = Path(__file__).resolve().parents[2] / "conformance" / "sessions.json"
PATIENCE = 60.0  # for a busy machine


class Session:
    """The gateway of a session, and its device."""

    def __init__(self) -> None:
        self.connections: asyncio.Queue[ServerConnection] = asyncio.Queue()
        self.ended = asyncio.Event()
        self.ids: list[str] = []
        self.results: list[asyncio.Task[dict[str, Any]]] = []
        self.paused: list[float] = []  # between connections, as the device states them
        self.tokens = 0

    async def serve(self, socket: ServerConnection) -> None:
        self.connections.put_nowait(socket)
        await self.ended.wait()

    def token(self) -> str:
        self.tokens += 1
        return f"t{self.tokens}"

    async def accepts(self, token: str, _: dict[str, Any]) -> None:
        self.socket = await self.connections.get()
        request = self.socket.request
        assert request is not None
        assert request.headers.get("Authorization") == f"Bearer {token}", request.headers
        assert token not in request.path, request.path
        self.used: set[str] = set()  # ids, on this connection

    async def sends(self, frames: list[Any], _: dict[str, Any]) -> None:
        for frame in frames:
            await self.socket.send(frame if isinstance(frame, str) else json.dumps(frame))

    async def closes(self, code: int, _: dict[str, Any]) -> None:
        await self.socket.close(code)

    async def leaves(self, *_: Any) -> None:
        with contextlib.suppress(ConnectionClosed):
            raise AssertionError(f"it does not leave, but sends {await self.socket.recv()!r}")

    async def calls(self, call: dict[str, str], _: dict[str, Any]) -> None:
        channel, message = call["channel"], call.get("message", "")
        match call["command"]:
            case "focus":
                self.device.focus(channel)
            case "blur":
                self.device.blur(channel)
            case "mark_read":
                self.results.append(asyncio.create_task(self.device.mark_read(channel, message)))
            case "mark_unread":
                self.results.append(asyncio.create_task(self.device.mark_unread(channel, message)))
            case other:
                raise AssertionError(f"{other} is unknown here")

    async def receives(self, want: dict[str, Any], _: dict[str, Any]) -> None:
        frame = json.loads(await self.socket.recv())
        assert {k: frame.get(k) for k in want} == want, f"it sends {frame}, want {want}"
        id = frame.get("id", "")
        assert not id or id not in self.used, f"the id {id} is used again"
        self.used.add(id)
        self.ids.append(id)

    async def answers(self, n: int, step: dict[str, Any]) -> None:
        frame = {"type": "ack", "id": self.ids[n - 1], "after": step.get("after", [])}
        if "code" in step:
            frame = {"type": "error", "id": self.ids[n - 1], "code": step["code"], "message": "planned"}
        await self.socket.send(json.dumps(frame))

    async def returns(self, after: list[str], _: dict[str, Any]) -> None:
        answer = await self.results.pop(0)
        assert answer["after"] == after, f"a command returns {answer}, want {after}"

    async def waits(self, want: dict[str, float], _: dict[str, Any]) -> None:
        while not self.paused:
            await asyncio.sleep(0.001)
        assert want["least"] <= self.paused[0] <= want["most"], f"it waits for {self.paused[0]} s, want {want}"

    async def fails(self, code: str, _: dict[str, Any]) -> None:
        try:
            answer = await self.results.pop(0)
        except TidemarkError as e:
            assert e.code == code, f"a command fails with {e.code}, want {code}"
        else:
            raise AssertionError(f"a command returns {answer}, want {code}")

    def shown(self) -> dict[str, Any]:
        return {"badge": self.device.badge, "unread": {id: c["unread"] for id, c in self.device.inbox.channels.items()}}

    async def shows(self, want: dict[str, Any], _: dict[str, Any]) -> None:
        if want["badge"] is None:
            assert self.device.badge is None, self.shown()
            return
        while self.shown() != want:
            await asyncio.sleep(0.001)


class Sessions(unittest.IsolatedAsyncioTestCase):
    async def test_sessions(self) -> None:
        for v in json.loads(SESSIONS.read_text(encoding="utf-8")):
            with self.subTest(v["name"]):
                await self.play(v["steps"], **v.get("timing", {}))

    async def play(self, steps: list[dict[str, Any]], quiet: float = 60, answer: float = 10, least: float = 0.001, most: float = 0.002) -> None:
        session = Session()
        async with serve(session.serve, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            try:
                times = {"backoff": Backoff(least, most), "quiet_timeout": quiet, "answer_timeout": answer}
                async with Device(url, token=session.token, **times) as session.device:
                    session.device.on("disconnected", lambda f: session.paused.append(f["retry_in"]))
                    for step in steps:
                        kind, value = next(iter(step.items()))
                        try:
                            await asyncio.wait_for(getattr(session, kind)(value, step), PATIENCE)
                        except TimeoutError:
                            self.fail(f"never: {step}; it shows {session.shown()}")
            finally:
                session.ended.set()


if __name__ == "__main__":
    unittest.main()
