"""Stamps: how far the state behind a value was folded."""

from __future__ import annotations

import re

_STAMP = re.compile(r"(\d{1,19})\.(\d{1,19})\.(\d{1,19})\.(\d{1,19})\Z", re.ASCII)


def parse_stamp(text: str) -> tuple[int, int, int, int]:
    """Parses ``fold_version.m.r.d``. An invalid stamp is a ValueError, because comparing with it
    would let an old value replace a new one."""
    m = _STAMP.match(text)
    if m is None:
        raise ValueError(f"stamp {text!r} is not fold_version.m.r.d")
    a, b, c, d = (int(g) for g in m.groups())
    return a, b, c, d


def dominates(a: str, b: str) -> bool:
    """Whether every part of ``a`` is at or beyond that of ``b``."""
    return all(x >= y for x, y in zip(parse_stamp(a), parse_stamp(b)))
