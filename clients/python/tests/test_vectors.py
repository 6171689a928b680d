"""Runs the vectors that all clients share: clients/conformance, and the values of Redis in
cache/testdata."""

import json
import unittest
from pathlib import Path
from typing import Any

from tidemark import Backoff, Device, Inbox, _calls, dominates, parse_stamp, totals_of
from tidemark.cached import Miss, Snapshot, escape_id, families_of
from tidemark.errors import error_of_response, passes

ROOT = Path(__file__).resolve().parents[3]


def vectors(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


class Vectors(unittest.TestCase):
    maxDiff = None

    def test_stamps(self) -> None:
        v = vectors("clients/conformance/stamps.json")
        for pair in v["dominates"]:
            self.assertEqual(dominates(pair["a"], pair["b"]), pair["is"], pair)
        for text in v["malformed"]:
            with self.assertRaises(ValueError, msg=repr(text)):
                parse_stamp(text)

    def test_backoff(self) -> None:
        for v in vectors("clients/conformance/backoff.json"):
            with self.subTest(v["name"]):
                b = Backoff(v["min"], v["max"], lambda r=v["random"]: r)
                self.assertEqual([b.next(bound) for bound in v["asked"]], v["waits"])

    def test_times(self) -> None:
        v, d = vectors("clients/conformance/times.json"), Device()
        self.assertEqual(v, {
            "quiet": d._quiet, "answer": d._answer, "command": d._outbox._timeout, "stream_quiet": _calls.QUIET,
            "wait": {"least": d._backoff.least, "most": d._backoff.most},
        })

    def test_totals(self) -> None:
        for v in vectors("clients/conformance/totals.json"):
            with self.subTest(v["name"]):
                self.assertEqual(totals_of(v["channels"], v["threads"], now=v["now"], label=v.get("label")), v["totals"])

    def test_frames(self) -> None:
        for v in vectors("clients/conformance/frames.json"):
            with self.subTest(v["name"]):
                inbox = Inbox()
                for frame in v["frames"]:
                    inbox = Inbox.of(frame) if frame["type"] == "inbox" else inbox.with_update(frame)
                got = {
                    "known": inbox.known, "badge": inbox.badge, "channels": {k: c["unread"] for k, c in inbox.channels.items()},
                    "threads": {" ".join(k): t["unread"] for k, t in inbox.threads.items()},
                    "sorted": [c["channel_id"] for c in inbox.sorted], "archived": [c["channel_id"] for c in inbox.archived],
                }
                self.assertEqual(got, {k: v[k] for k in got})

    def test_errors(self) -> None:
        for v in vectors("clients/conformance/errors.json"):
            with self.subTest(v["name"]):
                e = error_of_response(v["status"], v["headers"], v["body"].encode())
                self.assertEqual((e.code, e.retry_after, passes(e)), (v["code"], v["retry_after"], v["again"]))
                self.assertEqual(e.request_id, v.get("request_id", ""))

    def test_redis(self) -> None:
        """The readers of Go and Lua return the same answers."""
        list = vectors("cache/testdata/vectors.json")
        self.assertGreater(len(list), 10)
        for v in list:
            with self.subTest(v["name"]):
                snapshot = Snapshot(
                    f"5:json:{v['redis_keys']}/e", {b["field"]: b["json"] for b in v["inbox"]},
                    {b["field"]: b["json"] for b in v["inbox_threads"]}, v["channels_updated"], v["thread_listing"], v["now"],
                )
                records = {b["field"]: b["hash"] for b in v["channel_latest"]}
                self.assertEqual(snapshot.view({c: records.get(c, {}) for c in snapshot.asks}), v["answer"])

    def test_a_miss_is_no_zero(self) -> None:
        for epoch in (None, "3/x", "5:packed:inbox/x", "6:json:inbox/x"):
            with self.assertRaises(Miss):
                families_of(epoch)
        with self.assertRaises(Miss):
            Snapshot("4/x", {}, {}, False, None, 0)
        self.assertEqual(escape_id("a:b%"), "a%3Ab%25")


if __name__ == "__main__":
    unittest.main()
