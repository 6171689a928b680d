"""Answers of the query service and of the stream, as they come: names in snake_case, times as text (:func:`tidemark.parse_time`).

A field of ``NotRequired`` is absent where there is no such message or time, never None.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from .events import Level


class ArchivedTotals(TypedDict):
    """ArchivedTotals sum the archived channels."""

    mentions: int
    unread_channels: int


class Totals(TypedDict):
    """Totals sum the channels that a user is a member of, that are not archived and whose level is not NONE, and the listed threads of these."""

    archived: ArchivedTotals
    badge: int
    flagged: int
    mentions: int
    thread_mentions: int
    thread_unread: int
    unread: int
    unread_channels: int
    unread_threads: int


class MessageRef(TypedDict):
    """MessageRef names a message. A seq without an id: the id has left the index."""

    message_id: str
    seq: int


class LastRead(TypedDict):
    """LastRead is where a user's pointer stands and when it was put there."""

    at: NotRequired[str]
    message_id: str
    seq: int


class Latest(TypedDict):
    """Latest is the newest live counted message of a channel."""

    at: str
    message_id: str
    preview: str
    sender_id: str
    seq: int


class Filed(TypedDict):
    """Filed says how the user filed a channel."""

    keep: bool


class ChannelUnread(TypedDict):
    """ChannelUnread is what one user sees of one channel. first_unread, last_read and latest are unset where there is none."""

    archived: bool
    as_of: NotRequired[list[str]]
    channel_id: str
    direct_mentions: int
    evaluated_at: NotRequired[str]
    filed: NotRequired[Filed]
    first_mention: NotRequired[MessageRef]
    first_unread: NotRequired[MessageRef]
    flagged: bool
    ignore_mention_all: bool
    labels: list[str]
    last_read: NotRequired[LastRead]
    latest: NotRequired[Latest]
    level: Level
    level_after: Level
    line: NotRequired[MessageRef]
    member: bool
    mentions: int
    muted: bool
    offline_unread: int
    own_labels: list[str]
    read_epoch: int
    unread: int
    until: NotRequired[str]


class ThreadUnread(TypedDict):
    """ThreadUnread is what one user sees of one thread. first_unread, last_read and last_reply are unset where there is none."""

    archived: bool
    channel_id: str
    direct_mentions: int
    first_mention: NotRequired[MessageRef]
    first_unread: NotRequired[MessageRef]
    following: bool
    last_read: NotRequired[LastRead]
    last_reply: NotRequired[Latest]
    level: Level
    level_after: Level
    mentions: int
    muted: bool
    read_epoch: int
    thread_id: str
    unread: int
    until: NotRequired[str]


class Inbox(TypedDict):
    as_of: list[str]
    channels: list[ChannelUnread]
    evaluated_at: NotRequired[str]
    next_page_token: str
    totals: Totals
    totals_by_label: dict[str, Totals]


class Threads(TypedDict):
    """GetThreadsResponse lists threads while their last reply, or the user's last read or follow in them, is at most 30 days old. Totals are those of GetInbox, for threads alone."""

    as_of: list[str]
    evaluated_at: NotRequired[str]
    next_page_token: str
    threads: list[ThreadUnread]
    totals: Totals


class Excluded(TypedDict):
    """Excluded counts messages above the pointer that do not count, each under one reason."""

    before_join: int
    deleted: int
    hidden: int
    own: int
    read_singly: int
    silent: int
    thread: int


class Pointer(TypedDict):
    """Pointer is where a user stands and which record put them there."""

    at: NotRequired[str]
    event: str
    message_id: str
    seq: int


class Explanation(TypedDict):
    as_of: list[str]
    excluded: Excluded
    message_ids: list[str]
    more: bool
    pointer: NotRequired[Pointer]
    unnamed: int
    unread: int


class Channel(TypedDict):
    archived: bool
    as_of: list[str]
    channel_id: str
    head_pos: int
    head_seq: int
    labels: list[str]
    large: bool
    latest: NotRequired[Latest]
    member_count: int


class Reader(TypedDict):
    """Reader is how far a member has read for others to see. seq 0: nowhere, and at is unset; a seq without an id: the id has left the index."""

    at: NotRequired[str]
    message_id: str
    seq: int
    user_id: str


class Readers(TypedDict):
    """GetReadersResponse lists all members in the order in which they first joined, those who have read nothing too."""

    as_of: list[str]
    next_page_token: str
    readers: list[Reader]


class Recipient(TypedDict):
    """Recipient is what became of the message for one of them. Times are told for 90 days of log time; after that status alone says it."""

    delivered_at: NotRequired[str]
    read_at: NotRequired[str]
    status: str
    user_id: str
    viewed_at: NotRequired[str]


class Receipts(TypedDict):
    """GetReceiptsResponse says who received and who read a message. Its counts and status are over all recipients, on every page: the members when it was posted, without its sender."""

    as_of: list[str]
    channel_id: str
    delivered_count: int
    message_id: str
    next_page_token: str
    read_count: int
    recipient_count: int
    recipients: list[Recipient]
    seq: int
    status: str
    viewed_count: int


class UserChannel(TypedDict):
    channel_id: str
    erased: bool
    member: bool


class UserChannels(TypedDict):
    """ListUserChannelsResponse lists channels by id. Deleted ones are gone, and with them what the user did there."""

    as_of: list[str]
    channels: list[UserChannel]
    next_page_token: str


class MarkedRead(TypedDict):
    after: list[str]
    channels: int


class WatchSnapshot(TypedDict):
    """Replaces all that was known."""

    channels: list[ChannelUnread]
    totals: Totals
    next_page_token: str
    threads: list[ThreadUnread]
    totals_by_label: dict[str, Totals]


class WatchUpdate(TypedDict):
    """The whole new state of one channel or thread, and the totals with it."""

    channel: NotRequired[ChannelUnread]
    thread: NotRequired[ThreadUnread]
    totals: Totals
    totals_by_label: dict[str, Totals]


class WatchEvent(TypedDict):
    """A message of the stream: a snapshot, or an update."""

    snapshot: NotRequired[WatchSnapshot]
    update: NotRequired[WatchUpdate]
    as_of: list[str]
    evaluated_at: NotRequired[str]
