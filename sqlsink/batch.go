package sqlsink

import (
	"bytes"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/sink"
)

// row is the newest row of a key in a batch, or a receipt.
type row struct {
	part     *part
	from, to int // start and end of its text
	stamp    events.Stamp
	state    rowState
}

// rows are the rows of one table.
type rows struct {
	list  []row
	byKey map[string]int32
}

// batch collects rows: the newest row of each key of unread and channels, and all receipts. It
// copies the needed data from the records.
type batch struct {
	text     copyText
	unread   rows
	channels rows
	receipts []row

	removals bool // a removal that may affect rows of other partitions
	tally    tally

	delta   events.UnreadDelta
	record  events.ChannelRecord
	receipt events.ReceiptsRecord
}

// tally counts records by outcome.
type tally struct {
	records, coalesced, bad int
	lastBad                 error
}

// reset empties the batch.
func (b *batch) reset() {
	b.text.b, b.receipts = b.text.b[:0], b.receipts[:0]
	for _, t := range []*rows{&b.unread, &b.channels} {
		t.list, t.byKey = t.list[:0], map[string]int32{}
	}
	b.removals, b.tally = false, tally{}
}

func (b *batch) rows() int { return len(b.unread.list) + len(b.channels.list) + len(b.receipts) }

// replaced reports whether a later value replaces an earlier one of the same key. If neither stamp
// dominates the other, the later value wins.
func (was *row) replaced(now *row) bool {
	return was.state == erased || now.state == erased || now.stamp.Dominates(was.stamp) || !was.stamp.Dominates(now.stamp)
}

// put keeps r, whose text is at the end of the batch's, if it is the newest of its key.
func (b *batch) put(t *rows, key []byte, r row) {
	if at, ok := t.byKey[string(key)]; ok {
		b.tally.coalesced++
		if was := &t.list[at]; was.replaced(&r) {
			*was = r
		} else {
			b.text.b = b.text.b[:r.from]
		}
		return
	}
	t.byKey[string(key)] = int32(len(t.list)) //nolint:gosec // bounded by Flush.Rows
	t.list = append(t.list, r)
}

// addUnread adds a record of tidemark.unread.
func (b *batch) addUnread(r *kgo.Record, p *part) {
	b.tally.records++
	userID, channelID, threadID, ok := events.SplitUnreadKey(r.Key)
	if !ok || !validID(userID) || !validID(channelID) || threadID != nil && !validID(threadID) {
		b.bad(r, errKey)
		return
	}
	d, s := &b.delta, erased
	if r.Value == nil {
		*d = events.UnreadDelta{UserID: userID, ChannelID: channelID, ThreadID: threadID}
	} else if err := events.DecodeUnreadDelta(r.Value, d); err != nil {
		b.bad(r, err)
		return
	} else if !bytes.Equal(d.UserID, userID) || !bytes.Equal(d.ChannelID, channelID) || !bytes.Equal(d.ThreadID, threadID) {
		b.bad(r, sink.ErrOtherKey)
		return
	} else {
		s = stateOf(d)
	}
	b.removals = b.removals || s != stored
	from := len(b.text.b)
	b.text.appendUnread(d, s)
	b.put(&b.unread, r.Key, row{part: p, from: from, to: len(b.text.b), stamp: d.Stamp, state: s})
}

// addChannel adds a record of tidemark.channels.
func (b *batch) addChannel(r *kgo.Record, p *part) {
	b.tally.records++
	if !validID(r.Key) {
		b.bad(r, errKey)
		return
	}
	c, s := &b.record, erased
	if r.Value == nil {
		*c = events.ChannelRecord{ChannelID: r.Key}
	} else if err := events.DecodeChannelRecord(r.Value, c); err != nil {
		b.bad(r, err)
		return
	} else if !bytes.Equal(c.ChannelID, r.Key) {
		b.bad(r, sink.ErrOtherKey)
		return
	} else if s = stored; c.Deleted {
		s = removed
	}
	b.removals = b.removals || s != stored
	from := len(b.text.b)
	b.text.appendChannel(c, s)
	b.put(&b.channels, r.Key, row{part: p, from: from, to: len(b.text.b), stamp: c.Stamp, state: s})
}

// addReceipts adds a record of tidemark.receipts.
func (b *batch) addReceipts(r *kgo.Record, p *part) {
	b.tally.records++
	c := &b.receipt
	if !validID(r.Key) {
		b.bad(r, errKey)
		return
	}
	if r.Value == nil {
		return // the record has no receipts
	}
	if err := events.DecodeReceiptsRecord(r.Value, c); err != nil {
		b.bad(r, err)
		return
	}
	if !bytes.Equal(c.ChannelID, r.Key) {
		b.bad(r, sink.ErrOtherKey)
		return
	}
	add := func(list []events.Receipt, read bool) {
		for i := range list {
			if !validID(list[i].UserID) {
				continue
			}
			from := len(b.text.b)
			b.text.appendReceipt(c.ChannelID, &list[i], read)
			b.receipts = append(b.receipts, row{part: p, from: from, to: len(b.text.b)})
		}
	}
	add(c.Readers, true)
	add(c.Delivered, false)
}

// bad counts a record that cannot be written. Other records are not affected, and the next value of
// its key replaces it.
func (b *batch) bad(r *kgo.Record, err error) {
	b.tally.bad++
	b.tally.lastBad = &RecordError{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, What: "not written to SQL", Err: err}
}

// drop removes the rows of partitions that were given away, and returns their number.
func (b *batch) drop(gone func(*part) bool) (n int) {
	keep := func(list []row) []row {
		kept := list[:0]
		for _, r := range list {
			if gone(r.part) {
				n++
				continue
			}
			kept = append(kept, r)
		}
		return kept
	}
	b.receipts = keep(b.receipts)
	for _, t := range []*rows{&b.unread, &b.channels} {
		old := make([]string, len(t.list))
		for key, i := range t.byKey {
			old[i] = key
		}
		list := t.list
		t.list, t.byKey = nil, map[string]int32{}
		for i, r := range list {
			if gone(r.part) {
				n++
				continue
			}
			t.byKey[old[i]] = int32(len(t.list)) //nolint:gosec // bounded by Flush.Rows
			t.list = append(t.list, r)
		}
	}
	return n
}

// validID reports whether id may be part of a key.
func validID(id []byte) bool { return utf8.Valid(id) && events.ValidID(id) }
