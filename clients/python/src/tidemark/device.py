"""One device of one user, connected to a gateway (docs/gateway.md)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from ._outbox import Outbox
from .backoff import Backoff
from .events import Level
from .inbox import Inbox
from .times import rfc3339
from .tokens import TokenSource, async_token_of

Frame = dict[str, Any]
State = Literal["connecting", "open", "waiting", "closed"]

_TOO_MANY, _TOO_MANY_WAIT = 4429, 4.0  # the close code after which a client must wait longer, and the bound of that wait
_log = logging.getLogger("tidemark")


class Device:
    """A socket that stays connected: when it ends, the device reconnects after a growing wait and
    restores the focus.

    Every connection begins with a snapshot, so the device misses nothing. Commands without an
    answer are sent again on the next connection. That is safe because all commands are idempotent::

        async with Device("http://127.0.0.1:8080", user_id="ann") as device:
            await device.ready()
            print(device.badge)
            await device.mark_read("general", "m1")

    ``inbox`` and ``badge`` have the current state; ``on("unread.updated", fn)`` calls a function
    with each frame of a type.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", *, user_id: str = "", token: TokenSource = None, backoff: Backoff | None = None,
        command_timeout: float = 30.0, quiet_timeout: float = 60.0, answer_timeout: float = 10.0, max_pending: int = 1000,
    ) -> None:
        self._url = _address(url, user_id)
        self._token, self._backoff = token, backoff or Backoff()
        self._quiet, self._answer = quiet_timeout, answer_timeout
        self._outbox = Outbox(command_timeout, max_pending)
        self._handlers: dict[str, list[Callable[[Frame], object]]] = {}
        self._focused: dict[tuple[str, str], Frame] = {}
        self._heads: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._known = asyncio.Event()
        self.state: State = "closed"
        self.inbox = Inbox()
        self.user_id = ""
        self.instance_id = ""

    @property
    def badge(self) -> int | None:
        """The number for a launcher icon; None, not zero, until the first snapshot."""
        return self.inbox.badge

    async def __aenter__(self) -> Device:
        self.connect()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        await self.close()

    def connect(self) -> None:
        """Connects, and stays connected until close."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="tidemark device")

    async def close(self) -> None:
        """Ends the connection. Commands without an answer fail; the inbox stays readable."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self.state = "closed"
        self._outbox.end()

    async def ready(self) -> Inbox:
        """Waits for the first snapshot."""
        await self._known.wait()
        return self.inbox

    def on(self, type: str, fn: Callable[[Frame], object]) -> Callable[[], None]:
        """Calls a function with each frame of a type, ``*`` for all; the returned function ends
        that. The type ``disconnected`` is from this client: ``code``, ``reason``, ``retry_in`` in
        seconds."""
        handlers = self._handlers.setdefault(type, [])
        handlers.append(fn)
        return lambda: handlers.remove(fn) if fn in handlers else None

    # Commands. Each returns the answer, whose ``after`` makes queries include it.

    def focus(self, channel_id: str, thread_id: str = "") -> None:
        """The user looks at a channel or thread: the gateway marks new messages there read. The
        focus outlasts reconnects."""
        self._focused[channel_id, thread_id] = _scope(channel_id, thread_id)
        self._outbox.say({"type": "channel.focus", **_scope(channel_id, thread_id)})

    def blur(self, channel_id: str, thread_id: str = "") -> None:
        """The user no longer looks at a channel or thread."""
        if self._focused.pop((channel_id, thread_id), None) is not None:
            self._outbox.say({"type": "channel.blur", **_scope(channel_id, thread_id)})

    async def mark_read(
        self, channel_id: str, message_id: str, *, thread_id: str = "", private: bool = False, with_threads: bool = False
    ) -> Frame:
        """Reads a channel, or a thread, up to a message."""
        return await self.send("mark_read", **_scope(channel_id, thread_id), message_id=message_id, private=private, with_threads=with_threads)

    async def mark_unread(self, channel_id: str, message_id: str, *, thread_id: str = "", head_seq: int | None = None) -> Frame:
        """Makes a message, and all later ones, unread again. The command names the newest message
        that this device knew."""
        head = self._head(channel_id, thread_id) if head_seq is None else head_seq
        return await self.send("mark_unread", **_scope(channel_id, thread_id), message_id=message_id, head_seq=head)

    async def messages_read(self, channel_id: str, message_ids: Sequence[str]) -> Frame:
        """Reads single messages; earlier ones stay unread."""
        return await self.send("messages_read", channel_id=channel_id, message_ids=list(message_ids))

    async def follow_thread(self, channel_id: str, thread_id: str) -> Frame:
        return await self.send("thread.follow", channel_id=channel_id, thread_id=thread_id)

    async def unfollow_thread(self, channel_id: str, thread_id: str) -> Frame:
        return await self.send("thread.unfollow", channel_id=channel_id, thread_id=thread_id)

    async def notify(
        self, channel_id: str, level: Level, *, until: datetime | None = None, ignore_mention_all: bool | None = None
    ) -> Frame:
        """Sets what the channel adds to the badge, permanently or until a time."""
        more: Frame = {} if ignore_mention_all is None else {"ignore_mention_all": ignore_mention_all}
        frame: Frame = {"type": "channel.notify", "channel_id": channel_id, "level": level, **more}
        if until is not None:
            frame["until"] = rfc3339(until)
        return await self._outbox.ask(frame)

    async def mute(self, channel_id: str, muted: bool) -> Frame:
        return await self._outbox.ask({"type": "channel.mute", "channel_id": channel_id, "muted": muted})

    async def flag(self, channel_id: str, flagged: bool) -> Frame:
        """Flags a channel, whatever is unread in it, or removes the flag."""
        head = self._head(channel_id)
        return await self._outbox.ask({"type": "channel.flag", "channel_id": channel_id, "flagged": flagged, **({"head_seq": head} if head else {})})

    async def file(self, channel_id: str, archived: bool, *, keep: bool = False) -> Frame:
        """Archives a channel until its next message, with ``keep`` permanently, or restores it."""
        head = self._head(channel_id)
        return await self._outbox.ask({
            "type": "channel.file", "channel_id": channel_id, "archived": archived, **({"keep": True} if keep else {}),
            **({"head_seq": head} if head else {}),
        })

    async def hide(self, channel_id: str, message_ids: Sequence[str] = (), *, up_to_seq: int = 0) -> Frame:
        """Removes messages, or all up to a seq, from this user's numbers permanently."""
        return await self.send("message.hide", channel_id=channel_id, message_ids=list(message_ids), up_to_seq=up_to_seq)

    async def viewed(self, channel_id: str, message_ids: Sequence[str]) -> Frame:
        """Reports that the user has played or opened messages."""
        return await self.send("message.viewed", channel_id=channel_id, message_ids=list(message_ids))

    async def set_line(self, channel_id: str, *, message_id: str = "", seq: int = 0) -> Frame:
        """Sets the user's line in a channel; no count depends on it."""
        return await self.send("line.set", channel_id=channel_id, message_id=message_id, seq=seq)

    async def set_labels(self, channel_id: str, labels: Sequence[str]) -> Frame:
        """Replaces the user's own labels of a channel."""
        return await self._outbox.ask({"type": "labels.set", "channel_id": channel_id, "labels": list(labels)})

    async def read_state(self, channel_id: str) -> Frame:
        """Requests the pointers of all members of a channel."""
        return await self.send("read_state", channel_id=channel_id)

    async def sync(self) -> Frame:
        """Requests a new snapshot, which replaces everything."""
        return await self.send("sync")

    async def send(self, type: str, **fields: Any) -> Frame:
        """Sends a command without its empty fields, and waits for the answer. Without a connection
        it is sent on the next one."""
        return await self._outbox.ask({"type": type, **{k: v for k, v in fields.items() if v}})

    def _head(self, channel_id: str, thread_id: str = "") -> int:
        """The newest message that this device knows."""
        channel = self.inbox.channels.get(channel_id, {})
        thread = self.inbox.threads.get((channel_id, thread_id), {})
        return max(self._heads.get(channel_id, 0), 0, *(int(n) for n in (channel.get("latest", {}).get("seq", 0), thread.get("last_reply", {}).get("seq", 0))))

    # The connection

    async def _run(self) -> None:
        while True:
            code, reason = await self._connection()
            self._outbox.close()
            wait = self._backoff.next(_TOO_MANY_WAIT if code == _TOO_MANY else 0.0)
            self.state = "waiting"
            self._emit({"type": "disconnected", "code": code, "reason": reason, "retry_in": wait})
            await asyncio.sleep(wait)

    async def _connection(self) -> tuple[int, str]:
        """One connection, until it ends. Returns the close code and the reason."""
        self.state = "connecting"
        try:
            async with asyncio.timeout(self._answer):
                token = await async_token_of(self._token)  # a new one each time, because the last may have expired
            headers = {"Authorization": f"Bearer {token}"} if token else None
            socket = await connect(self._url, additional_headers=headers, open_timeout=self._answer, close_timeout=1, max_size=16 << 20)
            pump = asyncio.create_task(self._outbox.pump())
            try:
                return await self._serve(socket)
            finally:
                pump.cancel()
                with contextlib.suppress(asyncio.CancelledError, ConnectionClosed):
                    await pump
                await socket.close()
        except ConnectionClosed as e:
            return (e.rcvd.code, e.rcvd.reason) if e.rcvd else (1006, "the connection broke off")
        except InvalidStatus as e:
            return 0, f"the gateway refused the connection: HTTP {e.response.status_code}"
        except TimeoutError:
            return 1006, f"no answer within {self._answer:g} s"
        except Exception as e:  # from the network, or from the token function
            return 0, str(e) or type(e).__name__

    async def _serve(self, socket: ClientConnection) -> tuple[int, str]:
        within, asked = self._answer, True
        while True:
            try:
                async with asyncio.timeout(within):
                    data = await socket.recv()
            except TimeoutError:
                if asked:
                    raise
                self._outbox.say({"type": "sync"})  # otherwise a cut cable would leave old numbers for ever
                within, asked = self._answer, True
                continue
            within, asked = self._quiet, False
            try:
                frame = json.loads(data)
            except ValueError:
                return 1003, "a frame is no JSON"
            if not isinstance(frame, dict):
                return 1003, "a frame is no JSON object"
            self._apply(frame, socket)
            self._emit(frame)

    def _apply(self, frame: Mapping[str, Any], socket: ClientConnection) -> None:
        match frame.get("type"):
            case "hello":
                self.user_id, self.instance_id = frame["user_id"], frame["instance_id"]
                first = [{"type": "channel.focus", **scope} for scope in self._focused.values()]
                self._outbox.open(socket.send, first, frame.get("limits") or {})
                self.state = "open"
            case "inbox":
                self._backoff.reset()  # not at the hello: otherwise clients would soon retry a gateway that accepts connections and then fails
                self.inbox = Inbox.of(frame)
                self._known.set()
            case "unread.updated":
                self.inbox = self.inbox.with_update(frame)
            case "message.new":
                channel = frame["channel_id"]
                self._heads[channel] = max(frame.get("seq", 0), self._heads.get(channel, 0))
        if "id" in frame or frame.get("type") == "error":
            self._outbox.answered(frame)

    def _emit(self, frame: Mapping[str, Any]) -> None:
        for type in (frame.get("type", ""), "*"):
            for fn in list(self._handlers.get(type, ())):
                try:
                    fn(dict(frame))
                except Exception:  # an error of a listener affects neither the others nor the connection
                    _log.exception("a listener of %s failed", frame.get("type"))


def _address(url: str, user_id: str) -> str:
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.netloc:
        raise ValueError(f"{url!r} is no URL of a gateway: write it as http://127.0.0.1:8080 or wss://host/v1/socket")
    query = urlencode({"user_id": user_id}) if user_id else parts.query
    return urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") or "/v1/socket", query, ""))


def _scope(channel_id: str, thread_id: str) -> dict[str, str]:
    return {"channel_id": channel_id, "thread_id": thread_id} if thread_id else {"channel_id": channel_id}
