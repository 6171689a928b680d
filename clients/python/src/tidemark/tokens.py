"""Sources of bearer tokens, and the ``topic/partition/offset`` tokens of ``after``."""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Union

TokenSource = Union[str, Callable[[], str], Callable[[], Awaitable[str]], None]
"""A bearer token, or a function that returns one before each call and each connection."""


class TokenFile:
    """A token in a file, which is read again for each call, so that another process can replace it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path

    def __call__(self) -> str:
        with open(self.path, encoding="utf-8") as f:
            return f.read().strip()


def token_of(source: TokenSource) -> str:
    """The current token; empty: none."""
    value = source() if callable(source) else source
    if inspect.isawaitable(value):
        close = getattr(value, "close", None)
        if close is not None:
            close()
        raise TypeError("a token function of the synchronous client must return a text, not a coroutine")
    return value or ""


async def async_token_of(source: TokenSource) -> str:
    """The current token; empty: none."""
    value = source() if callable(source) else source
    if inspect.isawaitable(value):
        value = await value
    return value or ""


def latest_tokens(tokens: Iterable[str]) -> list[str]:
    """Keeps the token with the highest offset of each topic and partition, because a node accepts
    at most three tokens for each partition."""
    kept: dict[str, str] = {}
    for token in tokens:
        where, slash, offset = token.rpartition("/")
        key = where if slash else token
        if key not in kept or _offset(offset) > _offset(kept[key].rpartition("/")[2]):
            kept[key] = token
    return list(kept.values())


def _offset(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else -1
