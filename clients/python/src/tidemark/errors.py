"""Errors, as classes. Each carries the code of the API, and when to try again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class TidemarkError(Exception):
    """A call, a stream or a command that failed.

    ``code`` is a code of the API (``not_found``), or one of this client: ``timeout``, ``closed``, ``overflow``.
    ``retry_after`` is the number of seconds after which the same call may work, if the node said one.
    ``request_id`` is the id of the call in the node's log.
    """

    code = "unknown"

    def __init__(self, message: str, *, code: str = "", retry_after: float | None = None, request_id: str = "") -> None:
        super().__init__(message)
        if code:
            self.code = code
        self.message = message
        self.retry_after = retry_after
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class InvalidArgument(TidemarkError):
    """A field is missing, misspelt, too large or malformed, or a page token has expired."""

    code = "invalid_argument"


class NotFound(TidemarkError):
    """No such channel or message, or one that a user's token may not see."""

    code = "not_found"


class Unauthenticated(TidemarkError):
    """There is no token, or the node does not accept it."""

    code = "unauthenticated"


class PermissionDenied(TidemarkError):
    """The token does not allow this."""

    code = "permission_denied"


class ResourceExhausted(TidemarkError):
    """Too many calls, or too large a one."""

    code = "resource_exhausted"


class Unavailable(TidemarkError):
    """A partition is moving, the node stops, or it cannot be reached. The same call may work soon."""

    code = "unavailable"


class Unimplemented(TidemarkError):
    """The address has no such method: it may not be a node with the role ``query``."""

    code = "unimplemented"


class Timeout(TidemarkError):
    """There was no answer in time."""

    code = "timeout"


class Closed(TidemarkError):
    """The device was closed before the command was answered."""

    code = "closed"


class Overflow(TidemarkError):
    """Too many commands wait for an answer."""

    code = "overflow"


_CLASSES: dict[str, type[TidemarkError]] = {
    c.code: c
    for c in (
        InvalidArgument, NotFound, Unauthenticated, PermissionDenied, ResourceExhausted, Unavailable, Unimplemented, Timeout, Closed, Overflow,
    )
}


def error_of(code: str, message: str, *, retry_after: float | None = None, request_id: str = "") -> TidemarkError:
    """The error of a code; :class:`TidemarkError` itself for a code without a class."""
    return _CLASSES.get(code, TidemarkError)(message, code=code, retry_after=retry_after, request_id=request_id)


def error_of_response(status: int, headers: Mapping[str, str], body: bytes) -> TidemarkError:
    """The error of an HTTP answer that is not 200. An answer that does not come from the API has
    the code of its status."""
    lower = {k.lower(): v for k, v in headers.items()}
    try:
        retry_after: float | None = float(lower["retry-after"])
    except (KeyError, ValueError):
        retry_after = None
    request_id = lower.get("x-request-id", "")
    try:
        said: Any = json.loads(body)
    except ValueError:
        said = None
    if isinstance(said, dict) and isinstance(said.get("code"), str):
        return error_of(said["code"], str(said.get("message", "")), retry_after=retry_after, request_id=request_id)
    code = {400: "invalid_argument", 401: "unauthenticated", 403: "permission_denied", 404: "unimplemented", 429: "resource_exhausted",
            502: "unavailable", 503: "unavailable", 504: "unavailable"}.get(status, "unknown")
    return error_of(code, f"HTTP {status} without an error of the API", retry_after=retry_after, request_id=request_id)


def passes(err: TidemarkError) -> bool:
    """Whether the same call may work later without a change."""
    return isinstance(err, Unavailable) or (isinstance(err, ResourceExhausted) and err.retry_after is not None)
