"""A synchronous client of a node."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, cast

import httpx

from . import _calls
from .backoff import Backoff
from .errors import TidemarkError, Timeout, Unavailable
from .events import Event
from .tokens import TokenSource, token_of, latest_tokens
from .types import (
    Channel, ChannelUnread, Explanation, Inbox, Readers, Receipts, Threads, UserChannels, WatchEvent,
)


class Client:
    """A client of a node, to publish and to read. Threads may share one.

    ``token`` is a bearer token, a :class:`tidemark.TokenFile`, or a function; it is called before
    each request. Reads that the node refuses temporarily are repeated, up to ``tries`` attempts;
    writes are not. ``after`` of a read takes the tokens that a write returned, or the ``as_of`` of
    an answer: the read includes them.
    """

    def __init__(
        self, url: str = _calls.DEFAULT_URL, *, token: TokenSource = None, tries: int = 5, timeout: float = 15.0,
        http: httpx.Client | None = None,
    ) -> None:
        self.url = _calls.check_url(url)
        self._token, self._tries, self._timeout = token, tries, timeout
        self._own = http is None
        self._http = http or httpx.Client()

    def close(self) -> None:
        """Closes the connections, unless ``http`` was passed."""
        if self._own:
            self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def publish(self, *events: Event) -> list[str]:
        """Publishes events, and returns the tokens to pass as ``after``. If one event is invalid,
        all are refused."""
        res = self._call(_calls.publish(events))
        return latest_tokens(cast("list[str]", res.get("after", [])))

    def mark_all_read(
        self, user_id: str, *, label: str = "", threads: bool = False, instance_id: str = "", after: Iterable[str] = ()
    ) -> list[str]:
        """Marks all channels of a user read, or those with a label, and returns the tokens to pass
        as ``after``."""
        call = _calls.mark_all_read(user_id, after, label=label, threads=threads, instance_id=instance_id)
        return latest_tokens(cast("list[str]", (self._call(call)).get("after", [])))

    def unread(self, user_id: str, channel_id: str, *, after: Iterable[str] = (), evaluated_at: datetime | None = None) -> ChannelUnread:
        """One user in one channel."""
        call = _calls.query("GetUnread", after, evaluated_at, user_id=user_id, channel_id=channel_id)
        return cast(ChannelUnread, self._call(call))

    def inbox(
        self, user_id: str, *, unread_only: bool = False, label: str = "", archived: Literal["", "without", "only", "all"] = "",
        page_size: int = 0, page_token: str = "", after: Iterable[str] = (), evaluated_at: datetime | None = None,
    ) -> Inbox:
        """A page of the user's channels, unread first, with totals over all of them."""
        call = _calls.query(
            "GetInbox", after, evaluated_at, user_id=user_id, unread_only=unread_only, label=label, archived=archived,
            page_size=page_size, page_token=page_token,
        )
        return cast(Inbox, self._call(call))

    def threads(
        self, user_id: str, *, any_age: bool = False, page_size: int = 0, page_token: str = "", after: Iterable[str] = (),
        evaluated_at: datetime | None = None,
    ) -> Threads:
        """A page of the threads that the user follows, unread first."""
        call = _calls.query(
            "GetThreads", after, evaluated_at, user_id=user_id, any_age=any_age, page_size=page_size, page_token=page_token
        )
        return cast(Threads, self._call(call))

    def explain(self, user_id: str, channel_id: str, *, thread_id: str = "", after: Iterable[str] = ()) -> Explanation:
        """The messages behind a number, and why others do not count."""
        call = _calls.query("ExplainUnread", after, user_id=user_id, channel_id=channel_id, thread_id=thread_id)
        return cast(Explanation, self._call(call))

    def channel(self, channel_id: str, *, after: Iterable[str] = ()) -> Channel:
        """A channel, the same for every caller."""
        return cast(Channel, self._call(_calls.query("GetChannel", after, channel_id=channel_id)))

    def receipts(
        self, channel_id: str, message_id: str, *, page_size: int = 0, page_token: str = "", after: Iterable[str] = ()
    ) -> Receipts:
        """Who received and who read a message, and how many."""
        call = _calls.query(
            "GetReceipts", after, channel_id=channel_id, message_id=message_id, page_size=page_size, page_token=page_token
        )
        return cast(Receipts, self._call(call))

    def readers(self, channel_id: str, *, page_size: int = 0, page_token: str = "", after: Iterable[str] = ()) -> Readers:
        """How far each member of a channel has read."""
        call = _calls.query("GetReaders", after, channel_id=channel_id, page_size=page_size, page_token=page_token)
        return cast(Readers, self._call(call))

    def user_channels(
        self, of_user_id: str, *, page_size: int = 0, page_token: str = "", after: Iterable[str] = ()
    ) -> UserChannels:
        """All channels with data about a user. Not for a user's token."""
        call = _calls.query("ListUserChannels", after, of_user_id=of_user_id, page_size=page_size, page_token=page_token)
        return cast(UserChannels, self._call(call))

    def watch(self, user_id: str, *, after: Iterable[str] = (), reconnect: bool = True) -> Iterator[WatchEvent]:
        """Yields a snapshot of the user's inbox, then every change, until the caller stops.

        A snapshot replaces everything before it; another one comes after each break. When the
        stream breaks, the watch continues where it was, after a growing wait; with
        ``reconnect=False`` it ends with an error instead.
        """
        seen, backoff = _calls.Seen(latest_tokens(after)), Backoff()
        while True:
            try:
                for event in self._stream(user_id, seen.tokens):
                    seen.add(event)
                    if "snapshot" in event:
                        backoff.reset()
                    if "snapshot" in event or "update" in event:
                        yield cast(WatchEvent, event)
                err: TidemarkError = Unavailable("the stream has ended")
            except TidemarkError as e:
                err = e
            if not reconnect or _calls.lasting(err):
                raise err
            time.sleep(max(backoff.next(), err.retry_after or 0.0))

    def _stream(self, user_id: str, after: list[str]) -> Iterator[dict[str, Any]]:
        """One stream, with its heartbeats."""
        request: dict[str, Any] = {"user_id": user_id}
        if after:
            request["after"] = after
        limits = httpx.Timeout(self._timeout, read=_calls.QUIET)
        url = f"{self.url}/{_calls.QUERY}/WatchUnread"
        try:
            with self._http.stream(
                "POST", url, content=_calls.envelope(request), headers=_calls.headers(token_of(self._token), _calls.STREAM),
                timeout=limits,
            ) as res:
                if res.status_code != 200:
                    _calls.answer_of(res.status_code, res.headers, res.read())
                envelopes = _calls.Envelopes()
                for data in res.iter_bytes():
                    for message in envelopes.feed(data):
                        yield message
                if not envelopes.ended:
                    raise Unavailable("the stream broke off")
        except httpx.TimeoutException as e:
            raise Timeout(f"{self.url} has said nothing for a while") from e
        except httpx.TransportError as e:
            raise Unavailable(f"{self.url}: {e or type(e).__name__}") from e

    def _call(self, call: _calls.Call) -> dict[str, Any]:
        tries = _calls.Tries(self._tries)
        while True:
            try:
                return self._once(call)
            except TidemarkError as e:
                wait = tries.wait(call, e)
                if wait is None:
                    raise
            time.sleep(wait)

    def _once(self, call: _calls.Call) -> dict[str, Any]:
        try:
            res = self._http.post(
                self.url + call.path, content=call.body, headers=_calls.headers(token_of(self._token)), timeout=self._timeout
            )
        except httpx.TimeoutException as e:
            raise Timeout(f"{call.method}: {self.url} has not answered within {self._timeout:g} s") from e
        except httpx.TransportError as e:
            raise Unavailable(f"{call.method}: {self.url}: {e or type(e).__name__}") from e
        return _calls.answer_of(res.status_code, res.headers, res.content)
