"""Plays the watches that all clients share: clients/conformance/watches.json. The test is the node."""

import asyncio
import json
import struct
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from tidemark import AsyncClient, Client, TidemarkError, _calls

WATCHES = Path(__file__).resolve().parents[2] / "conformance" / "watches.json"
PATIENCE = 60.0  # for a busy machine
END = 2  # the flag of a stream's last message


def envelope(message: dict[str, Any], flags: int = 0) -> bytes:
    body = json.dumps(message).encode()
    return struct.pack(">BI", flags, len(body)) + body


class Stream:
    """A request for a stream, which the test answers."""

    def __init__(self, head: str, request: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head, self.request, self.reader, self.writer, self.begun = head, request, reader, writer, False

    @classmethod
    async def read(cls, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> "Stream":
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = next(int(line.split(":")[1]) for line in head.splitlines() if line.startswith("content-length:"))
        return cls(head, json.loads((await reader.readexactly(size))[5:]), reader, writer)

    def answer(self, status: str, *headers: str) -> None:
        self.begun = True
        self.writer.write("\r\n".join([f"HTTP/1.1 {status}", "Connection: close", *headers, "", ""]).encode())

    def write(self, data: bytes) -> None:
        """Writes a chunk of a stream that has no end yet."""
        if not self.begun:
            self.answer("200 OK", "Content-Type: application/connect+json", "Transfer-Encoding: chunked")
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))


class Watch:
    """The node of a watch, and what the client shows."""

    def __init__(self) -> None:
        self.streams: asyncio.Queue[Stream] = asyncio.Queue()
        self.shown: asyncio.Queue[int] = asyncio.Queue()
        self.failed: asyncio.Queue[TidemarkError] = asyncio.Queue()
        self.ended = 0.0
        self.tokens = 0

    def token(self) -> str:
        self.tokens += 1
        return f"t{self.tokens}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.streams.put_nowait(await Stream.read(reader, writer))

    async def accepts(self, token: str, step: dict[str, Any]) -> None:
        self.stream = await self.streams.get()
        assert f"authorization: bearer {token}\r\n" in self.stream.head, self.stream.head
        assert self.stream.request["user_id"] == "ann", self.stream.request
        assert sorted(self.stream.request.get("after", [])) == sorted(step["after"]), self.stream.request
        assert time.monotonic() - self.ended >= step.get("waited", 0), "it comes too early"

    async def sends(self, messages: list[dict[str, Any]], _: dict[str, Any]) -> None:
        for message in messages:
            self.stream.write(envelope(message))

    async def cuts(self, message: dict[str, Any], _: dict[str, Any]) -> None:
        data = envelope(message)
        self.stream.write(data[: len(data) // 2])
        await self.breaks()

    async def breaks(self, *_: Any) -> None:
        self.ended = time.monotonic()
        self.stream.writer.close()

    async def ends(self, code: str, _: dict[str, Any]) -> None:
        self.stream.write(envelope({"error": {"code": code, "message": "planned"}} if code else {}, END))
        self.stream.writer.write(b"0\r\n\r\n")
        await self.breaks()

    async def refuses(self, status: int, step: dict[str, Any]) -> None:
        body = json.dumps({"code": step["code"], "message": "planned"}).encode()
        wait = [f"Retry-After: {step['retry_after']}"] if "retry_after" in step else []
        self.stream.answer(f"{status} Planned", f"Content-Length: {len(body)}", *wait)
        self.stream.writer.write(body)
        await self.breaks()

    async def leaves(self, *_: Any) -> None:
        assert await self.stream.reader.read() == b""
        await self.breaks()

    async def passes(self, seconds: float, _: dict[str, Any]) -> None:
        await asyncio.sleep(seconds)

    async def shows(self, badge: int, _: dict[str, Any]) -> None:
        got = await self.shown.get()
        assert got == badge, f"it shows {got}, want {badge}"

    async def fails(self, code: str, _: dict[str, Any]) -> None:
        err = await self.failed.get()
        assert err.code == code, f"it ends with {err.code}, want {code}"
        assert self.shown.empty(), f"it shows {self.shown.get_nowait()}, too"

    async def watch(self, url: str, after: list[str]) -> None:
        """Reads with the asynchronous client."""
        try:
            async with AsyncClient(url, token=self.token) as c:
                async for e in c.watch("ann", after=after):
                    self.shown.put_nowait((e.get("snapshot") or e["update"])["totals"]["badge"])
        except TidemarkError as e:
            self.failed.put_nowait(e)

    def watch_in_thread(self, url: str, after: list[str], loop: asyncio.AbstractEventLoop) -> None:
        """Reads with the synchronous client."""
        try:
            with Client(url, token=self.token) as c:
                for e in c.watch("ann", after=after):
                    badge = (e.get("snapshot") or e["update"])["totals"]["badge"]
                    loop.call_soon_threadsafe(self.shown.put_nowait, badge)
        except TidemarkError as e:
            loop.call_soon_threadsafe(self.failed.put_nowait, e)


class Watches(unittest.IsolatedAsyncioTestCase):
    async def test_asynchronous(self) -> None:
        for v in json.loads(WATCHES.read_text(encoding="utf-8")):
            with self.subTest(v["name"]):
                await self.play(v, threads=False)

    async def test_synchronous(self) -> None:
        for v in json.loads(WATCHES.read_text(encoding="utf-8")):
            with self.subTest(v["name"]):
                await self.play(v, threads=True)

    async def play(self, v: dict[str, Any], threads: bool) -> None:
        watch = Watch()
        server = await asyncio.start_server(watch.serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with mock.patch.object(_calls, "QUIET", v.get("timing", {}).get("quiet", _calls.QUIET)):
            if threads:
                reader = asyncio.create_task(asyncio.to_thread(watch.watch_in_thread, url, v["after"], asyncio.get_running_loop()))
            else:
                reader = asyncio.create_task(watch.watch(url, v["after"]))
            try:
                for step in v["steps"]:
                    kind, value = next(iter(step.items()))
                    try:
                        await asyncio.wait_for(getattr(watch, kind)(value, step), PATIENCE)
                    except TimeoutError:
                        self.fail(f"never: {step}")
                await asyncio.wait_for(reader, PATIENCE)
            finally:
                reader.cancel()
                server.close()


if __name__ == "__main__":
    unittest.main()
