"""What the synchronous and the asynchronous client share: requests, answers, and retries."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from .errors import TidemarkError, error_of, error_of_response, passes
from .events import Event, published
from .times import rfc3339
from .tokens import latest_tokens

QUERY = "tidemark.query.v1.QueryService"
INGEST = "tidemark.ingest.v1.IngestService"

DEFAULT_URL = "http://127.0.0.1:8080"
QUIET = 60.0
"""A watch without any data for this many seconds is ended: a node sends a heartbeat after 25."""


def check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(f"{url!r} is not the URL of a node: write it as {DEFAULT_URL}")
    return url.rstrip("/")


@dataclass(frozen=True)
class Call:
    """One call: the path below the node's URL, the request, and whether it may be repeated."""

    service: str
    method: str
    request: dict[str, Any]
    repeat: bool = True

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.method}"

    @property
    def body(self) -> bytes:
        return json.dumps(self.request, ensure_ascii=False, separators=(",", ":")).encode()


def headers(token: str, content_type: str = "application/json") -> dict[str, str]:
    out = {"Content-Type": content_type, "Connect-Protocol-Version": "1"}
    if token:
        out["Authorization"] = f"Bearer {token}"
    return out


def query(method: str, after: Iterable[str] = (), evaluated_at: datetime | None = None, **request: Any) -> Call:
    """A read. Empty fields are left out."""
    out = {k: v for k, v in request.items() if v}
    if tokens := latest_tokens(after):
        out["after"] = tokens
    if evaluated_at is not None:
        out["evaluated_at"] = rfc3339(evaluated_at)
    return Call(QUERY, method, out)


def publish(events: Iterable[Event]) -> Call:
    """A write. It is not repeated: if the answer of a successful write is lost, a second attempt
    would apply a mark twice."""
    return Call(INGEST, "Publish", {"events": [published(e) for e in events]}, repeat=False)


def mark_all_read(user_id: str, after: Iterable[str], **request: Any) -> Call:
    out: dict[str, Any] = {k: v for k, v in request.items() if v}
    if tokens := latest_tokens(after):
        out["after"] = tokens
    return Call(INGEST, "MarkAllRead", {"user_id": user_id, **out}, repeat=False)


def answer_of(status: int, head: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """Returns the answer, or raises its error."""
    if status != 200:
        raise error_of_response(status, head, body)
    try:
        out = json.loads(body)
    except ValueError:
        out = None
    if not isinstance(out, dict):
        raise error_of("unknown", "the answer is no JSON object: is this a node of Tidemark?")
    return out


@dataclass
class Tries:
    """The attempts of a read, and the waits between them: 50 ms and more, doubling, or as the node
    says."""

    most: int
    made: int = 0

    def wait(self, call: Call, err: TidemarkError) -> float | None:
        """Seconds until the next attempt; None: there is none."""
        self.made += 1
        if not call.repeat or not passes(err) or self.made >= self.most:
            return None
        bound: float = 0.05 * 2 ** (self.made - 1)
        return max(bound / 2 + bound / 2 * random.random(), err.retry_after or 0.0)


# The stream: each message has a prefix of 5 bytes, flags and length. The last one has flag 2, and an error if there was one.

STREAM = "application/connect+json"
_END, _COMPRESSED = 2, 1
_LARGEST = 64 << 20


def envelope(request: dict[str, Any]) -> bytes:
    body = json.dumps(request, ensure_ascii=False).encode()
    return struct.pack(">BI", 0, len(body)) + body


@dataclass
class Envelopes:
    """Adds bytes of a stream, and returns the complete messages."""

    ended: bool = False
    _left: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        self._left += data
        while len(self._left) >= 5:
            flags, size = struct.unpack_from(">BI", self._left)
            if flags & _COMPRESSED or size > _LARGEST:
                raise error_of("unknown", "the stream is not that of a node")
            if len(self._left) < 5 + size:
                return
            text = bytes(self._left[5 : 5 + size])
            del self._left[: 5 + size]
            message = json.loads(text) if text else {}
            if flags & _END:
                self.ended = True
                if "error" in message:
                    raise error_of(message["error"].get("code", "unknown"), message["error"].get("message", ""))
                return
            yield message


@dataclass
class Seen:
    """The position of a watch, as tokens for the next one: ``as_of`` of an update names its own
    partition only."""

    tokens: list[str]

    def add(self, event: Mapping[str, Any]) -> None:
        self.tokens = latest_tokens([*self.tokens, *event.get("as_of", ())])


def lasting(err: TidemarkError) -> bool:
    """Whether a watch cannot continue by reconnecting."""
    return err.code in ("invalid_argument", "unauthenticated", "permission_denied", "unimplemented", "not_found")
