"""Events and answers have the fields of the schemas, and both clients the same methods."""

import dataclasses
import inspect
import json
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args

from tidemark import AsyncClient, Client, events, types
from tidemark.events import Delivered, Delivery, LineSet, Message, MessagePosted, MessagesPurged, MessagesRead, Read, ReadUpTo, published

ROOT = Path(__file__).resolve().parents[3]
SCHEMAS: dict[str, Any] = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))["components"]["schemas"]
ANSWERS = {
    "Inbox": "GetInboxResponse", "Threads": "GetThreadsResponse", "Explanation": "ExplainUnreadResponse", "Channel": "GetChannelResponse",
    "Readers": "GetReadersResponse", "Receipts": "GetReceiptsResponse", "UserChannels": "ListUserChannelsResponse",
    "MarkedRead": "MarkAllReadResponse",
}


class Shapes(unittest.TestCase):
    def test_events(self) -> None:
        for envelope, union in (("MessageEvent", events.MessageKind), ("ReadEvent", events.ReadKind), ("DeliveryEvent", events.DeliveryKind)):
            kinds = {k.name: k for k in get_args(union)}
            heads = {"channel_id", "user_id", "occurred_at", "instance_id", "min_version"}
            self.assertEqual(set(SCHEMAS[envelope]["properties"]) - heads, set(kinds), envelope)
            for kind in kinds.values():
                fields = {f.name for f in dataclasses.fields(kind)}
                self.assertEqual(fields, set(SCHEMAS[kind.__name__].get("properties", {})), kind.__name__)

    def test_answers(self) -> None:
        for name in dir(types):
            shape = getattr(types, name)
            if not inspect.isclass(shape) or not hasattr(shape, "__required_keys__") or name.startswith("Watch"):
                continue
            want = set(SCHEMAS[ANSWERS.get(name, name)]["properties"])
            self.assertEqual(set(shape.__annotations__), want, name)

    def test_both_clients_have_the_same_methods(self) -> None:
        def methods(of: type) -> dict[str, list[str]]:
            return {n: [p for p in inspect.signature(m).parameters] for n, m in vars(of).items() if inspect.isfunction(m) and n[0] != "_"}

        self.assertEqual(methods(Client), methods(AsyncClient))

    def test_json(self) -> None:
        at = datetime(2026, 1, 2, 4, 4, 5, 678000, tzinfo=timezone(timedelta(hours=1)))
        for event, want in (
            (Message("c", MessagePosted("m1", "bob", mentions=("ann",), marks_read=False), at),
             {"message": {"channel_id": "c", "occurred_at": "2026-01-02T03:04:05.678000Z",
                          "message_posted": {"message_id": "m1", "sender_id": "bob", "mentions": ["ann"], "marks_read": False}}}),
            (Read("c", "ann", ReadUpTo(message_id="m1", private=True), instance_id="phone"),
             {"read": {"channel_id": "c", "user_id": "ann", "instance_id": "phone", "read_up_to": {"message_id": "m1", "private": True}}}),
            (Delivery("c", "ann", Delivered(message_id="m1")), {"delivery": {"channel_id": "c", "user_id": "ann", "delivered": {"message_id": "m1"}}}),
            (Message("c", MessagesPurged(up_to_seq=7)), {"message": {"channel_id": "c", "messages_purged": {"up_to_seq": 7}}}),
        ):
            self.assertEqual(published(event), want)

    def test_what_is_wrong_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            ReadUpTo().to_json()
        with self.assertRaises(ValueError):
            LineSet(message_id="m1", seq=1).to_json()
        with self.assertRaises(TypeError):
            MessagesRead("m1")
        with self.assertRaises(ValueError):
            Message("c", MessagePosted("m1", "bob"), datetime(2026, 1, 1)).to_json()


if __name__ == "__main__":
    unittest.main()
