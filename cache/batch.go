package cache

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/events"
)

// delta is the newest value of one (user, channel) in a batch.
type delta struct {
	events.UnreadDelta
	hash uint64 // of the record's key
	next int32  // the same user's next delta, -1 for none
	loud bool   // to be published
	gone bool   // a tombstone: only the ids are set
}

// channel is the newest record of one channel in a batch.
type channel struct {
	events.ChannelRecord
	hash uint64
	gone bool
}

// user is whose deltas a batch has.
type user struct {
	id          []byte
	hash        uint64
	first, last int32
}

// tally counts what became of records.
type tally struct {
	applied, stale  int // written; dominated by what was there or equal to it
	coalesced       int // replaced within the batch
	threads         int // of a thread: not cached yet
	bad             int // undecodable or at odds with their key
	unread, records int // records of tidemark.unread, of both topics
}

func (t *tally) add(o tally) {
	t.applied += o.applied
	t.stale += o.stale
	t.coalesced += o.coalesced
	t.threads += o.threads
	t.bad += o.bad
	t.unread += o.unread
	t.records += o.records
}

// batch joins records: of each key it keeps the newest value, and the values of a user stand together. What it holds
// borrows from the records. Reuse it with reset.
type batch struct {
	deltas   []delta
	users    []user
	channels []channel

	byKey, byUser, byChannel index
	scratch                  delta
	scratchChannel           channel

	tally   tally
	lastBad error // of the batch, with its place
}

// reset empties the batch and makes room for n records.
func (b *batch) reset(n int) {
	b.deltas, b.users, b.channels = b.deltas[:0], b.users[:0], b.channels[:0]
	b.byKey.reset(n)
	b.byUser.reset(n)
	b.byChannel.reset(n)
	b.tally, b.lastBad = tally{}, nil
}

// replaces reports whether a later value with stamp now takes the place of an earlier one of the same key. Of two that
// cannot be compared either may stand.
func replaces(was, now *events.Stamp) bool { return now.Dominates(*was) || !was.Dominates(*now) }

// addUnread takes a record of tidemark.unread; loud says whether what it changes is published.
func (b *batch) addUnread(r *kgo.Record, loud bool) {
	b.tally.unread++
	b.tally.records++
	userID, channelID, thread, ok := events.SplitUnreadKey(r.Key)
	if !ok || !validID(userID) || !validID(channelID) {
		b.bad(r, errKey)
		return
	}
	if thread != nil {
		b.tally.threads++
		return
	}
	d := &b.scratch
	d.gone = r.Value == nil
	if d.gone {
		d.UnreadDelta = events.UnreadDelta{UserID: userID, ChannelID: channelID, Excluded: d.Excluded[:0], Mentioned: d.Mentioned[:0]}
	} else if err := events.DecodeUnreadDelta(r.Value, &d.UnreadDelta); err != nil {
		b.bad(r, err)
		return
	} else if !bytes.Equal(d.UserID, userID) || !bytes.Equal(d.ChannelID, channelID) || len(d.ThreadID) > 0 {
		b.bad(r, errOtherKey)
		return
	}
	d.loud, d.hash, d.next = loud, xxh3.Hash(r.Key), -1

	n := int32(len(b.deltas))
	at := b.byKey.find(d.hash, n, func(i int32) bool {
		o := &b.deltas[i]
		return o.hash == d.hash && bytes.Equal(o.ChannelID, channelID) && bytes.Equal(o.UserID, userID)
	})
	if at < n {
		b.join(&b.deltas[at])
		return
	}
	b.deltas = grow(b.deltas)
	b.deltas[n], b.scratch = b.scratch, b.deltas[n]
	b.attach(n)
}

// join puts scratch, a later record of the same key, in the place of was, unless that dominates it.
func (b *batch) join(was *delta) {
	b.tally.coalesced++
	d := &b.scratch
	if !was.gone && !d.gone && !replaces(&was.Stamp, &d.Stamp) {
		return
	}
	if len(d.InstanceID) == 0 && d.LastRead.Seq == was.LastRead.Seq {
		d.InstanceID = was.InstanceID // the read that moved the pointer is still the one that put it there
	}
	d.loud = d.loud || was.loud
	d.next = was.next
	*was, b.scratch = b.scratch, *was
}

// attach puts delta n at the end of its user's.
func (b *batch) attach(n int32) {
	id := b.deltas[n].UserID
	hash := xxh3.Hash(id)
	next := int32(len(b.users))
	at := b.byUser.find(hash, next, func(i int32) bool {
		return b.users[i].hash == hash && bytes.Equal(b.users[i].id, id)
	})
	if at == next {
		b.users = append(b.users, user{id: id, hash: hash, first: n, last: n})
		return
	}
	u := &b.users[at]
	b.deltas[u.last].next = n
	u.last = n
}

// addChannel takes a record of tidemark.channels.
func (b *batch) addChannel(r *kgo.Record) {
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
		b.bad(r, errOtherKey)
		return
	}
	c.hash = xxh3.Hash(r.Key)
	n := int32(len(b.channels))
	at := b.byChannel.find(c.hash, n, func(i int32) bool {
		o := &b.channels[i]
		return o.hash == c.hash && bytes.Equal(o.ChannelID, r.Key)
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

// bad notes a record that cannot be cached. It never stops the others: the next value of its key makes up for it.
func (b *batch) bad(r *kgo.Record, err error) {
	b.tally.bad++
	b.lastBad = &RecordError{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Err: err}
}

// grow makes s longer by one, and keeps the lists that an element there has from before.
func grow[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var zero T
	return append(s, zero)
}
