package cache

import (
	"bytes"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/cache/internal/format"
	"github.com/tidemark/tidemark/cache/internal/hashindex"
	"github.com/tidemark/tidemark/cache/internal/packed"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/sink"
)

// state is the outcome of a value.
type state uint8

const (
	pending state = iota
	applied
	stale       // Redis has the same value, or one that dominates it
	unpublished // Redis has the same value, but it may not have been published
	skipped     // its partition has another owner, which reads the record too
)

// delta is the newest value of one (user, channel) or (user, channel, thread) in a batch: what decides
// whether it is written, and its bytes in Redis. A batch has many deltas, so a delta holds nothing
// else; told decodes the rest for listeners.
type delta struct {
	key        []byte // user, channel and thread, as in the record's key
	id         xxh3.Uint128
	part       *part
	now        known       // the value in Redis once it is written
	known      known       // the value in Redis
	from, to   int         // place of the value's bytes in batch.values; none for a removal
	lastRead   []byte      // id of the last message that the user has read
	record     *kgo.Record // its record
	mover      *kgo.Record // the record that states which device moved the pointer, nil if none does
	next       int32       // index of the user's delta that was added before, -1 for none
	userLen    uint8
	channelLen uint8
	toPublish  bool // to be published
	gone       bool // a tombstone: only the ids are set
	repeated   bool // another owner may have written it and crashed before it published it
	state      state
	asked      bool // a query to Redis is needed
}

func (d *delta) userID() []byte    { return d.key[:d.userLen] }
func (d *delta) channelID() []byte { return d.field()[:d.channelLen] }

// threadID returns the id of a thread's delta.
func (d *delta) threadID() []byte { return d.field()[int(d.channelLen)+1:] }

// field returns the name of the delta in its user's hashes: the channel, or the channel, 0x00 and the
// thread.
func (d *delta) field() []byte { return d.key[int(d.userLen)+1:] }

// thread reports whether d is about a thread.
func (d *delta) thread() bool { return len(d.field()) > int(d.channelLen) }

// channel is the newest record of one channel in a batch.
type channel struct {
	events.ChannelRecord
	id    xxh3.Uint128
	part  *part
	gone  bool
	state state
	asked bool
	known known
}

// user groups the deltas of one user in a batch. All are of one partition.
type user struct {
	id    []byte
	hash  uint64
	part  *part
	first int32 // the delta that was added last, then through delta.next
}

// updated reports whether the channel has labels or is archived, so that readers must fetch its
// record even if it is small.
func (c *channel) updated() bool { return c.Archived || len(c.Labels) > 0 }

// tally counts records by outcome.
type tally struct {
	applied, stale  int
	skipped         int
	coalesced       int // replaced by a later record of the batch
	left            int // belongs to a family of keys that is left out
	bad             int // undecodable, or in conflict with the key
	unread, records int // records of tidemark.unread, of both topics
}

// ended counts the outcome of a value.
func (t *tally) ended(s state) {
	switch s {
	case applied:
		t.applied++
	case stale, unpublished:
		t.stale++
	case skipped:
		t.skipped++
	}
}

// batch joins records: it keeps the newest value of each key, and groups values by user. It borrows
// the memory of the records. Reuse it with reset.
type batch struct {
	format   format.Format
	deltas   []delta
	users    []user
	channels []channel

	byKey, byUser, byChannel hashindex.Index
	scratch                  events.UnreadDelta
	scratchChannel           channel
	values                   []byte // the bytes of values, see delta.from
	warmed                   byte   // keeps warm from being left out by the compiler

	tally   tally
	lastBad error // last bad record of the batch, with its place
	written written
}

// reset empties the batch and makes room for n records.
func (b *batch) reset(n int) {
	const most = 256 << 20 // bytes of values that an empty batch keeps
	b.deltas, b.users, b.channels, b.values = b.deltas[:0], b.users[:0], b.channels[:0], b.values[:0]
	if cap(b.values) > most {
		b.values = nil
	}
	b.byKey.Reset(n)
	b.byUser.Reset(n)
	b.byChannel.Reset(n)
	b.tally, b.lastBad, b.written = tally{}, nil, written{slots: b.written.slots[:0]}
}

// replaces reports whether a later value, stamped now, replaces an earlier one of the same key. If
// neither stamp dominates the other, the later value wins.
func replaces(was, now *events.Stamp) bool { return now.Dominates(*was) || !was.Dominates(*now) }

// ahead is how many records or deltas are warmed before they are used.
const ahead = 64

// warm loads what adding records of tidemark.unread needs. A large batch does not fit into the CPU's
// caches; the misses of several records overlap.
func (b *batch) warm(records []*kgo.Record) {
	var keys, ids [ahead]uint64
	for i, r := range records {
		keys[i] = xxh3.Hash128(r.Key).Lo
		ids[i] = xxh3.Hash(r.Key[:max(0, bytes.IndexByte(r.Key, 0))])
	}
	var deltas, users [ahead]int32
	for i := range records {
		deltas[i], users[i] = b.byKey.Load(keys[i]), b.byUser.Load(ids[i])
	}
	for i := range records {
		if n := deltas[i]; n >= 0 {
			b.warmed += b.deltas[n].key[0]
		}
		if n := users[i]; n >= 0 {
			b.warmed += b.users[n].id[0]
		}
	}
}

// warmDeltas loads the delta of each user that was added last, and its bytes.
func (b *batch) warmDeltas(users []user) {
	for i := range users {
		b.warmed += byte(b.deltas[users[i].first].state)
	}
	for i := range users {
		d := &b.deltas[users[i].first]
		if b.warmed += d.key[0]; d.from < d.to {
			b.warmed += b.values[d.from]
		}
	}
}

// addUnread adds a record of tidemark.unread from p.
func (b *batch) addUnread(r *kgo.Record, p *part) {
	b.tally.unread++
	b.tally.records++
	userID, channelID, threadID, ok := events.SplitUnreadKey(r.Key)
	if !ok || !validID(userID) || !validID(channelID) || threadID != nil && !validID(threadID) {
		b.bad(r, errKey)
		return
	}
	d := delta{
		key: r.Key, userLen: uint8(len(userID)), channelLen: uint8(len(channelID)), //nolint:gosec // ids are short
		part: p, record: r, next: -1,
		gone: r.Value == nil, toPublish: r.Offset >= p.publishFrom, repeated: r.Offset < p.begun,
	}
	if x := &b.scratch; !d.gone {
		if err := events.DecodeUnreadDelta(r.Value, x); err != nil {
			b.bad(r, err)
			return
		} else if !bytes.Equal(x.UserID, userID) || !bytes.Equal(x.ChannelID, channelID) || !bytes.Equal(x.ThreadID, threadID) {
			b.bad(r, sink.ErrOtherKey)
			return
		}
		d.now, d.lastRead = after(x), x.LastRead.MessageID
		if len(x.InstanceID) > 0 {
			d.mover = r
		}
	}
	if d.thread() && b.format.NoThreads {
		b.tally.left++
		return
	}
	d.id = xxh3.Hash128(r.Key)
	n := int32(len(b.deltas))
	at := b.byKey.Find(d.id.Lo, n, func(i int32) bool {
		o := &b.deltas[i]
		return o.id == d.id && o.part == p && bytes.Equal(o.key, r.Key)
	})
	if at < n {
		b.join(&b.deltas[at], &d)
		return
	}
	b.encode(&d)
	b.deltas = append(b.deltas, d)
	b.attach(n)
}

// encode encodes the value of d, which b.scratch has.
func (b *batch) encode(d *delta) {
	if d.gone || !d.now.member {
		return
	}
	d.from = len(b.values)
	if b.format.Packed {
		b.values = packed.AppendValue(b.values, &b.scratch)
	} else {
		b.values = entry.AppendValue(b.values, &b.scratch)
	}
	d.to = len(b.values)
}

// join replaces was by d, a later record of the same key, unless was dominates it.
func (b *batch) join(was, d *delta) {
	b.tally.coalesced++
	if !was.gone && !d.gone && !replaces(&was.now.stamp, &d.now.stamp) {
		return
	}
	if d.mover == nil && d.now.seq == was.now.seq {
		d.mover = was.mover // the earlier read is still the one that moved the pointer
	}
	d.toPublish = d.toPublish || was.toPublish
	d.next = was.next
	b.encode(d)
	if n := d.to - d.from; n <= was.to-was.from { // in the place of the former value
		copy(b.values[was.from:], b.values[d.from:d.to])
		b.values = b.values[:len(b.values)-n]
		d.from, d.to = was.from, was.from+n
	}
	*was = *d
}

// attach adds delta n to the list of its user.
func (b *batch) attach(n int32) {
	id, p := b.deltas[n].userID(), b.deltas[n].part
	hash := xxh3.Hash(id)
	next := int32(len(b.users))
	at := b.byUser.Find(hash, next, func(i int32) bool {
		u := &b.users[i]
		return u.hash == hash && u.part == p && bytes.Equal(u.id, id)
	})
	if at == next {
		b.users = append(b.users, user{id: id, hash: hash, part: p, first: n})
		return
	}
	b.deltas[n].next, b.users[at].first = b.users[at].first, n
}

// addChannel adds a record of tidemark.channels from p.
func (b *batch) addChannel(r *kgo.Record, p *part) {
	b.tally.records++
	if !validID(r.Key) {
		b.bad(r, errKey)
		return
	}
	c := &b.scratchChannel
	c.gone = r.Value == nil
	if c.gone {
		c.ChannelRecord = events.ChannelRecord{ChannelID: r.Key, Holes: c.Holes[:0], Alls: c.Alls[:0]}
	} else if err := events.DecodeChannelRecord(r.Value, &c.ChannelRecord); err != nil {
		b.bad(r, err)
		return
	} else if !bytes.Equal(c.ChannelID, r.Key) {
		b.bad(r, sink.ErrOtherKey)
		return
	}
	if b.format.NoChannels && (c.gone || c.Deleted || !c.updated()) {
		b.tally.left++
		return
	}
	c.id, c.part, c.state = xxh3.Hash128(r.Key), p, pending
	n := int32(len(b.channels))
	at := b.byChannel.Find(c.id.Lo, n, func(i int32) bool {
		o := &b.channels[i]
		return o.id == c.id && o.part == p && bytes.Equal(o.ChannelID, r.Key)
	})
	if at < n {
		b.tally.coalesced++
		if was := &b.channels[at]; was.gone || c.gone || replaces(&was.Stamp, &c.Stamp) {
			*was, b.scratchChannel = b.scratchChannel, *was
		}
		return
	}
	b.channels = grow(b.channels)
	b.channels[n], b.scratchChannel = b.scratchChannel, b.channels[n]
}

// bad counts a record that cannot be cached. Other records are not affected, and the next value of
// its key replaces it.
func (b *batch) bad(r *kgo.Record, err error) {
	b.tally.bad++
	b.lastBad = &RecordError{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, What: "not cached", Err: err}
}

// grow makes s longer by one. The new element keeps the lists that it had before s was shortened,
// for reuse.
func grow[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var zero T
	return append(s, zero)
}

// validID reports whether id may be part of a key.
func validID(id []byte) bool { return utf8.Valid(id) && events.ValidID(id) }
