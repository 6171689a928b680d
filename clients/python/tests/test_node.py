"""Everything against a node with a gateway and a Redis: client_test.go starts them."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis
import redis.asyncio

from tidemark import (
    AsyncCacheReader, AsyncClient, CacheReader, Client, Device, InvalidArgument, MarkedUnread, MembersJoined, Message, MessagePosted, Miss,
    NotFound, Read, ReadUpTo, TokenFile, Unavailable,
)

PATIENCE = 120.0


def environment(name: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        raise RuntimeError(f"{name} is not set: run `go test ./clients/python`, which starts a node") from None


def eventually(view: Callable[[], Any], want: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            got = view()
            if want(got):
                return got
        except Miss:
            got = None
        if time.monotonic() > deadline:
            raise AssertionError(f"still {got}")
        time.sleep(0.01)


def story(channel: str, user: str, sender: str) -> list[Any]:
    return [
        Message(channel, MembersJoined([user, sender])),
        *(Message(channel, MessagePosted(f"{channel}-m{i}", sender, f"hi {i}", mentions=[user] if i == 3 else [])) for i in range(1, 4)),
        Read(channel, user, ReadUpTo(message_id=f"{channel}-m1")),
    ]


class Node(unittest.TestCase):
    def setUp(self) -> None:
        self.url = environment("TIDEMARK_TEST_NODE")
        self.redis_url = environment("TIDEMARK_TEST_REDIS")

    def test_calls(self) -> None:
        with Client(self.url, timeout=PATIENCE) as c:
            after = c.publish(*story("sync", "sync-ann", "sync-bob"))
            u = c.unread("sync-ann", "sync", after=after)
            self.assertEqual((u["unread"], u["mentions"], u["first_unread"]["message_id"]), (2, 1, "sync-m2"))
            self.assertEqual(c.inbox("sync-ann", after=after)["totals"]["badge"], 2)
            self.assertEqual(c.explain("sync-ann", "sync", after=after)["message_ids"], ["sync-m2", "sync-m3"])
            self.assertEqual(c.channel("sync", after=after)["member_count"], 2)
            self.assertEqual(c.receipts("sync", "sync-m1", after=after)["status"], "read")
            self.assertEqual({r["user_id"]: r["message_id"] for r in c.readers("sync", after=after)["readers"]}["sync-ann"], "sync-m1")
            self.assertEqual(c.threads("sync-ann", after=after)["threads"], [])
            self.assertEqual([x["channel_id"] for x in c.user_channels("sync-ann", after=after)["channels"]], ["sync"])
            after = c.mark_all_read("sync-ann", after=after)
            self.assertEqual(c.unread("sync-ann", "sync", after=after)["unread"], 0)
            after = c.publish(Read("sync", "sync-ann", MarkedUnread(message_id="sync-m3")))
            self.assertEqual(c.unread("sync-ann", "sync", after=after)["unread"], 1)

    def test_errors(self) -> None:
        with Client(self.url, timeout=PATIENCE) as c:
            with self.assertRaises(NotFound) as missing:
                c.channel("no-such-channel")
            self.assertTrue(missing.exception.request_id)
            with self.assertRaises(InvalidArgument):
                c.unread("ann", "general", after=["nonsense"])
            with self.assertRaises(InvalidArgument):
                c.publish(Message("c", MessagePosted("m1")))
        with Client("http://127.0.0.1:1", tries=2) as c, self.assertRaises(Unavailable):
            c.unread("ann", "general")
        with self.assertRaises(ValueError):
            Client("nowhere")

    def test_tokens_come_from_files_that_change(self) -> None:
        with tempfile.NamedTemporaryFile("w+") as f:
            token = TokenFile(f.name)
            for text in ("one", "two"):
                f.seek(0)
                f.write(text + "\n")
                f.flush()
                self.assertEqual(token(), text)

    def test_watch(self) -> None:
        with Client(self.url, timeout=PATIENCE) as c:
            after = c.publish(*story("watched", "watch-ann", "watch-bob"))
            events = c.watch("watch-ann", after=after)
            first = next(events)
            self.assertEqual(first["snapshot"]["totals"]["unread"], 2)
            c.publish(Message("watched", MessagePosted("watched-m4", "watch-bob")))
            for event in events:
                if event["update"]["totals"]["unread"] == 3:
                    self.assertEqual(event["update"]["channel"]["latest"]["message_id"], "watched-m4")
                    break
            events.close()
            with self.assertRaises(InvalidArgument):
                next(c.watch("watch-ann", after=["nonsense"]))

    def test_redis(self) -> None:
        with Client(self.url, timeout=PATIENCE) as c, redis.Redis.from_url(self.redis_url) as r:
            c.publish(*story("cached", "cache:ann", "cache:bob"))
            reader = CacheReader(r)
            view = eventually(lambda: reader.view("cache:ann"), lambda v: v["totals"]["badge"] == 2)
            inbox = c.inbox("cache:ann")
            for name in ("unread", "mentions", "badge", "unread_channels"):
                self.assertEqual(view["totals"][name], inbox["totals"][name])
            with self.assertRaises(Miss):
                reader.view("cache:nobody")


class Readme(unittest.TestCase):
    def test_its_programs_run(self) -> None:
        """In the order of the page, each as a program of its own."""
        text = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
        programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        said = []
        for program in programs:
            program = program.replace("http://127.0.0.1:8080", environment("TIDEMARK_TEST_NODE"))
            program = program.replace("redis://127.0.0.1:6379", environment("TIDEMARK_TEST_REDIS"))
            run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(run.returncode, 0, run.stderr)
            said.append(run.stdout)
        self.assertEqual(len(said), 4)
        self.assertRegex(said[0], r"\A1\n1\nread\nnot_found [0-9a-zA-Z:._-]+\n\Z")
        self.assertEqual(said[1], "badge 1\n")
        self.assertRegex(said[3], r"\A[01]\n\Z")  # Redis may lag behind


class AsyncNode(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.url = environment("TIDEMARK_TEST_NODE")
        self.redis_url = environment("TIDEMARK_TEST_REDIS")

    async def test_calls_and_watch(self) -> None:
        async with asyncio.timeout(PATIENCE), AsyncClient(self.url, timeout=PATIENCE) as c:
            after = await c.publish(*story("async", "async-ann", "async-bob"))
            self.assertEqual((await c.unread("async-ann", "async", after=after))["unread"], 2)
            self.assertEqual((await c.receipts("async", "async-m1", after=after))["read_count"], 1)
            events = c.watch("async-ann", after=after)
            self.assertEqual((await anext(events))["snapshot"]["totals"]["badge"], 2)
            await c.mark_all_read("async-ann", after=after)
            async for event in events:
                if event["update"]["totals"]["badge"] == 0:
                    break
            await events.aclose()
            with self.assertRaises(NotFound):
                await c.readers("no-such-channel")

    async def test_socket(self) -> None:
        async with asyncio.timeout(PATIENCE), AsyncClient(self.url, timeout=PATIENCE) as c, Device(self.url, user_id="dev-ann") as d:
            await c.publish(*story("device", "dev-ann", "dev-bob"))
            await d.ready()
            changed = asyncio.Event()
            d.on("*", lambda f: changed.set())
            while d.badge != 2:
                await changed.wait()
                changed.clear()
            answer = await d.mark_read("device", "device-m3")
            self.assertEqual((await c.unread("dev-ann", "device", after=answer["after"]))["unread"], 0)
            while d.badge != 0:
                await changed.wait()
                changed.clear()
            answer = await d.mark_unread("device", "device-m2")
            self.assertEqual((await c.unread("dev-ann", "device", after=answer["after"]))["unread"], 2)
            state = await d.read_state("device")
            self.assertEqual({r["user_id"] for r in state["readers"]}, {"dev-ann", "dev-bob"})
            with self.assertRaises(NotFound):
                await d.mark_read("no-such-channel", "m1")

    async def test_redis(self) -> None:
        async with AsyncClient(self.url, timeout=PATIENCE) as c, redis.asyncio.Redis.from_url(self.redis_url) as r:
            await c.publish(*story("acached", "acache-ann", "acache-bob"))
            reader = AsyncCacheReader(r)
            async with asyncio.timeout(PATIENCE):
                while True:
                    try:
                        if (await reader.view("acache-ann"))["totals"]["badge"] == 2:
                            break
                    except Miss:
                        pass
                    await asyncio.sleep(0.01)


if __name__ == "__main__":
    unittest.main()
