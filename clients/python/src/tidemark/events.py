"""Events, as ``Publish`` and the input topics take them: docs/events.md describes each.

An envelope has the place and the time; its ``kind`` is what happened::

    Message("general", MessagePosted("m1", sender_id="bob", preview="lunch?"))
    Read("general", "ann", ReadUpTo(message_id="m1"))
    Delivery("general", "ann", Delivered(message_id="m1"))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, Literal, Union

from .times import rfc3339

Level = Literal["ALL", "MENTIONS", "NONE"]


class _Kind:
    """What all kinds share: their name in an event, and fields that are left out while they are
    empty."""

    name: ClassVar[str]
    one_of: ClassVar[tuple[str, ...]] = ()  # exactly one of these fields is set

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if value is None or (value == f.default and f.name not in self.one_of):
                continue
            if isinstance(value, datetime):
                value = rfc3339(value)
            elif isinstance(value, (list, tuple)):
                value = list(value)
            out[f.name] = value
        if self.one_of and sum(n in out for n in self.one_of) != 1:
            raise ValueError(f"{type(self).__name__} needs exactly one of {', '.join(self.one_of)}")
        return out


def _ids(what: str, value: object) -> None:
    if isinstance(value, str):
        raise TypeError(f"{what} is a list of ids, not the text {value!r}")


# chat.messages


@dataclass(frozen=True)
class MessagePosted(_Kind):
    """A message at the end of its channel. Only a silent one may lack a sender."""

    name: ClassVar[str] = "message_posted"
    message_id: str
    sender_id: str = ""
    preview: str = ""
    thread_id: str = ""
    broadcast: bool = False
    silent: bool = False
    mentions: Sequence[str] = ()
    mention_all: bool = False
    member_count: int = 0
    hidden_from: Sequence[str] = ()
    marks_read: bool | None = None

    def __post_init__(self) -> None:
        _ids("mentions", self.mentions)
        _ids("hidden_from", self.hidden_from)


@dataclass(frozen=True)
class MessageEdited(_Kind):
    """A new text, and new mentions unless ``keep_mentions``."""

    name: ClassVar[str] = "message_edited"
    message_id: str
    preview: str = ""
    mentions: Sequence[str] = ()
    mention_all: bool = False
    keep_mentions: bool = False

    def __post_init__(self) -> None:
        _ids("mentions", self.mentions)


@dataclass(frozen=True)
class MessageDeleted(_Kind):
    """The message no longer counts for anybody. Name the seq too if you know it: it identifies a
    message whose id is too old."""

    name: ClassVar[str] = "message_deleted"
    message_id: str = ""
    seq: int = 0


@dataclass(frozen=True)
class MessagesPurged(_Kind):
    """Removes everything up to a message, a seq or a time."""

    name: ClassVar[str] = "messages_purged"
    one_of: ClassVar[tuple[str, ...]] = ("up_to_message_id", "up_to_seq", "up_to_time")
    up_to_message_id: str | None = None
    up_to_seq: int | None = None
    up_to_time: datetime | None = None


@dataclass(frozen=True)
class MembersJoined(_Kind):
    """Earlier messages are not unread, unless ``count_history``."""

    name: ClassVar[str] = "members_joined"
    user_ids: Sequence[str]
    count_history: bool = False

    def __post_init__(self) -> None:
        _ids("user_ids", self.user_ids)


@dataclass(frozen=True)
class MembersLeft(_Kind):
    name: ClassVar[str] = "members_left"
    user_ids: Sequence[str]

    def __post_init__(self) -> None:
        _ids("user_ids", self.user_ids)


@dataclass(frozen=True)
class ChannelDeleted(_Kind):
    """Permanent: later events about the channel are ignored."""

    name: ClassVar[str] = "channel_deleted"


@dataclass(frozen=True)
class MessagesSeeded(_Kind):
    """The channel begins with a number of messages that nobody publishes. Only the first event of a
    channel may be this one."""

    name: ClassVar[str] = "messages_seeded"
    count: int


@dataclass(frozen=True)
class ChannelUpdated(_Kind):
    """Replaces the channel's labels, and whether it is archived for everybody."""

    name: ClassVar[str] = "channel_updated"
    labels: Sequence[str] = ()
    archived: bool = False

    def __post_init__(self) -> None:
        _ids("labels", self.labels)


# chat.reads


@dataclass(frozen=True)
class ReadUpTo(_Kind):
    """Reads everything up to a message, a seq or a time."""

    name: ClassVar[str] = "read_up_to"
    one_of: ClassVar[tuple[str, ...]] = ("message_id", "seq", "time")
    message_id: str | None = None
    seq: int | None = None
    time: datetime | None = None
    thread_id: str = ""
    read_epoch: int = 0
    private: bool = False
    with_threads: bool = False


@dataclass(frozen=True)
class MessagesRead(_Kind):
    """Reads single messages; earlier ones stay unread."""

    name: ClassVar[str] = "messages_read"
    message_ids: Sequence[str]
    read_epoch: int = 0
    private: bool = False
    thread_id: str = ""

    def __post_init__(self) -> None:
        _ids("message_ids", self.message_ids)


@dataclass(frozen=True)
class MarkedUnread(_Kind):
    """Makes a message, and all later ones, unread again."""

    name: ClassVar[str] = "marked_unread"
    message_id: str = ""
    thread_id: str = ""
    head_message_id: str = ""
    head_seq: int = 0
    seq: int = 0


@dataclass(frozen=True)
class ThreadFollowed(_Kind):
    name: ClassVar[str] = "thread_followed"
    thread_id: str


@dataclass(frozen=True)
class ThreadUnfollowed(_Kind):
    name: ClassVar[str] = "thread_unfollowed"
    thread_id: str


@dataclass(frozen=True)
class ChannelMuted(_Kind):
    name: ClassVar[str] = "channel_muted"
    muted: bool


@dataclass(frozen=True)
class UserErased(_Kind):
    """Forgets everything that the user did in this channel."""

    name: ClassVar[str] = "user_erased"


@dataclass(frozen=True)
class NotifySet(_Kind):
    """Sets what the channel adds to the user's badge, permanently or until a time."""

    name: ClassVar[str] = "notify_set"
    level: Level = "ALL"
    until: datetime | None = None
    ignore_mention_all: bool | None = None


@dataclass(frozen=True)
class FlagSet(_Kind):
    """Flags the channel, whatever is unread in it."""

    name: ClassVar[str] = "flag_set"
    flagged: bool
    head_seq: int = 0


@dataclass(frozen=True)
class ChannelFiled(_Kind):
    """Archives the channel for this user until its next message; with ``keep`` permanently."""

    name: ClassVar[str] = "channel_filed"
    archived: bool
    keep: bool = False
    head_seq: int = 0


@dataclass(frozen=True)
class MessagesHidden(_Kind):
    """Removes messages from this user's numbers."""

    name: ClassVar[str] = "messages_hidden"
    message_ids: Sequence[str] = ()
    up_to_seq: int = 0

    def __post_init__(self) -> None:
        _ids("message_ids", self.message_ids)


@dataclass(frozen=True)
class LineSet(_Kind):
    """Sets the user's line; no count depends on it."""

    name: ClassVar[str] = "line_set"
    one_of: ClassVar[tuple[str, ...]] = ("message_id", "seq")
    message_id: str | None = None
    seq: int | None = None


@dataclass(frozen=True)
class MessagesViewed(_Kind):
    """Played or opened: the third tick."""

    name: ClassVar[str] = "messages_viewed"
    message_ids: Sequence[str]

    def __post_init__(self) -> None:
        _ids("message_ids", self.message_ids)


@dataclass(frozen=True)
class LabelsSet(_Kind):
    """Replaces the user's own labels of the channel."""

    name: ClassVar[str] = "labels_set"
    labels: Sequence[str] = ()

    def __post_init__(self) -> None:
        _ids("labels", self.labels)


# chat.deliveries


@dataclass(frozen=True)
class Delivered(_Kind):
    name: ClassVar[str] = "delivered"
    one_of: ClassVar[tuple[str, ...]] = ("message_id", "up_to_message_id")
    message_id: str | None = None
    up_to_message_id: str | None = None
    device_id: str = ""


@dataclass(frozen=True)
class Queued(_Kind):
    """The user was offline when the message was posted."""

    name: ClassVar[str] = "queued"
    message_id: str


MessageKind = Union[
    MessagePosted, MessageEdited, MessageDeleted, MessagesPurged, MembersJoined, MembersLeft, ChannelDeleted, MessagesSeeded, ChannelUpdated
]
ReadKind = Union[
    ReadUpTo, MessagesRead, MarkedUnread, ThreadFollowed, ThreadUnfollowed, ChannelMuted, UserErased, NotifySet, FlagSet, ChannelFiled,
    MessagesHidden, LineSet, MessagesViewed, LabelsSet,
]
DeliveryKind = Union[Delivered, Queued]


@dataclass(frozen=True)
class Message:
    """An event of ``chat.messages``. Without ``occurred_at`` its time is that of the write."""

    channel_id: str
    kind: MessageKind
    occurred_at: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """The value of a record of the topic."""
        return _event(self.kind, self.occurred_at, channel_id=self.channel_id)


@dataclass(frozen=True)
class Read:
    """An event of ``chat.reads``. ``instance_id`` names the device; the change that the event
    causes carries it."""

    channel_id: str
    user_id: str
    kind: ReadKind
    occurred_at: datetime | None = None
    instance_id: str = ""

    def to_json(self) -> dict[str, Any]:
        """The value of a record of the topic."""
        return _event(self.kind, self.occurred_at, channel_id=self.channel_id, user_id=self.user_id, instance_id=self.instance_id)


@dataclass(frozen=True)
class Delivery:
    """An event of ``chat.deliveries``."""

    channel_id: str
    user_id: str
    kind: DeliveryKind
    occurred_at: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """The value of a record of the topic."""
        return _event(self.kind, self.occurred_at, channel_id=self.channel_id, user_id=self.user_id)


Event = Union[Message, Read, Delivery]


def _event(kind: _Kind, occurred_at: datetime | None, **head: str) -> dict[str, Any]:
    out: dict[str, Any] = {k: v for k, v in head.items() if v}
    if occurred_at is not None:
        out["occurred_at"] = rfc3339(occurred_at)
    out[kind.name] = kind.to_json()
    return out


def published(event: Event) -> dict[str, Any]:
    """An element of the events of ``Publish``."""
    return {type(event).__name__.lower(): event.to_json()}
