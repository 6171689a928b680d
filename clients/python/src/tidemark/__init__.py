"""Tidemark from Python: publish events, ask for counts, watch them, keep a socket, read Redis.

    client.py   Client: calls of a node
    aio.py      AsyncClient: the same for asyncio
    events.py   events, by kind
    types.py    answers
    device.py   Device: the socket of a gateway
    inbox.py    what a device knows
    cached.py   CacheReader, AsyncCacheReader: what the cache role wrote to Redis
    errors.py   errors, by code
    tokens.py   bearer tokens, tokens of ``after``
"""

from .aio import AsyncClient
from .backoff import Backoff
from .cached import AsyncCacheReader, CacheReader, Miss
from .client import Client
from .device import Device
from .errors import (
    Closed, InvalidArgument, NotFound, Overflow, PermissionDenied, ResourceExhausted, TidemarkError, Timeout, Unauthenticated, Unavailable,
    Unimplemented,
)
from .events import (
    ChannelDeleted, ChannelFiled, ChannelMuted, ChannelUpdated, Delivered, Delivery, FlagSet, LabelsSet, LineSet, MarkedUnread, MembersJoined,
    MembersLeft, Message, MessageDeleted, MessageEdited, MessagePosted, MessagesHidden, MessagesPurged, MessagesRead, MessagesSeeded,
    MessagesViewed, NotifySet, Queued, Read, ReadUpTo, ThreadFollowed, ThreadUnfollowed, UserErased,
)
from .inbox import Inbox, level_at, totals_of
from .stamps import dominates, parse_stamp
from .times import parse_time
from .tokens import TokenFile, latest_tokens

__version__ = "0.1.0"

__all__ = [
    "AsyncCacheReader", "AsyncClient", "Backoff", "CacheReader", "ChannelDeleted", "ChannelFiled", "ChannelMuted", "ChannelUpdated", "Client",
    "Closed", "Delivered", "Delivery", "Device", "FlagSet", "Inbox", "InvalidArgument", "LabelsSet", "LineSet", "MarkedUnread", "MembersJoined",
    "MembersLeft", "Message", "MessageDeleted", "MessageEdited", "MessagePosted", "MessagesHidden", "MessagesPurged", "MessagesRead",
    "MessagesSeeded", "MessagesViewed", "Miss", "NotFound", "NotifySet", "Overflow", "PermissionDenied", "Queued", "Read", "ReadUpTo",
    "ResourceExhausted", "ThreadFollowed", "ThreadUnfollowed", "TidemarkError", "Timeout", "TokenFile", "Unauthenticated", "Unavailable",
    "Unimplemented", "UserErased", "dominates", "latest_tokens", "level_at", "parse_stamp", "parse_time", "totals_of",
]
