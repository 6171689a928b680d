"""Times as the API writes them."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)\Z", re.ASCII)


def rfc3339(at: datetime) -> str:
    """A time as text. One without a zone is an error, because its meaning would depend on the
    machine."""
    if at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone: use datetime.now(timezone.utc)")
    at = at.astimezone(timezone.utc)
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{at.microsecond:06d}" if at.microsecond else "") + "Z"


def parse_time(text: str) -> datetime:
    """The time of a text of the API, to the microsecond."""
    m = _RFC3339.match(text)
    if m is None:
        raise ValueError(f"{text!r} is no RFC 3339 time")
    micros = (m[2] or "")[:6].ljust(6, "0")
    return datetime.fromisoformat(f"{m[1]}.{micros}{'+00:00' if m[3] == 'Z' else m[3]}")


def millis(text: str | None) -> int:
    """Unix milliseconds of a text of the API; 0 for none."""
    if not text:
        return 0
    at = parse_time(text) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return at.days * 86_400_000 + at.seconds * 1000 + at.microseconds // 1000
