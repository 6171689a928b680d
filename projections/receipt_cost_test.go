package projections

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/receipts"
)

// receiptsFixture is a channel of many members and messages, by one sender.
type receiptsFixture struct {
	t       *testing.T
	p       *Partition
	m, r, d int64
	now     int64
}

func newReceiptsFixture(t *testing.T, members int) *receiptsFixture {
	fixture := &receiptsFixture{t: t, p: mustOpen(t, vfs.NewMem(), testIdentity()), now: 1_790_000_000_000}
	t.Cleanup(func() {
		if err := fixture.p.Close(); err != nil {
			t.Error(err)
		}
	})
	var ids [][]byte
	for i := range members {
		ids = append(ids, fmt.Appendf(nil, "user-%05d", i))
	}
	fixture.message(events.Message{Kind: events.KindMembersJoined, IDs: ids})
	return fixture
}

func (r *receiptsFixture) message(e events.Message) {
	r.now += 1700
	e.ChannelID, e.OccurredAt = []byte("room"), r.now
	r.p.rules.FoldMessage(&e, r.m, r.now)
	r.m++
}

func (r *receiptsFixture) post(n int) {
	r.message(events.Message{Kind: events.KindMessagePosted, MessageID: fmt.Appendf(nil, "m%05d", n), SenderID: []byte("user-00000")})
}

func (r *receiptsFixture) read(user int, seq uint32) {
	r.now += 37
	r.p.rules.FoldRead(&events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("room"), UserID: fmt.Appendf(nil, "user-%05d", user),
		OccurredAt: r.now, Target: events.TargetSeq, Seq: seq}, r.r, r.now)
	r.r++
}

func (r *receiptsFixture) deliver(user, n int) {
	r.now += 37
	r.p.rules.FoldDelivery(&events.Delivery{Kind: events.KindDelivered, ChannelID: []byte("room"), UserID: fmt.Appendf(nil, "user-%05d", user),
		OccurredAt: r.now, MessageID: fmt.Appendf(nil, "m%05d", n)}, r.d, r.now)
	r.d++
}

// stored counts the entries in the blocks of receipts, and the bytes of those records, keys
// included.
func (r *receiptsFixture) stored() (entries, bytes int) {
	mustCut(r.t, r.p)
	if err := r.p.Dump(func(key, val []byte) error {
		if key[0] != keys.Receipts {
			return nil
		}
		list, err := receipts.DecodeBlock(nil, val, 0, 0, 0)
		entries, bytes = entries+len(list), bytes+len(key)+len(val)
		return err
	}); err != nil {
		r.t.Fatal(err)
	}
	return entries, bytes
}

// TestReceiptsCostAdvances: 10,000 members who read 1,000 messages at once cost one entry each, not
// one for each message, and every message still has all its receipts.
func TestReceiptsCostAdvances(t *testing.T) {
	const members, messages = 10_000, 1_000
	fixture := newReceiptsFixture(t, members)
	for n := range messages {
		fixture.post(n)
	}
	for user := range members {
		fixture.read(user, messages)
	}
	entries, bytes := fixture.stored()
	t.Logf("%d reads of %d messages: %d entries, %.1f bytes each", members, messages, entries, float64(bytes)/float64(entries))
	if entries != members || bytes > 24*entries {
		t.Errorf("%d entries of %d bytes", entries, bytes)
	}
	for _, n := range []int{0, messages / 2, messages - 1} {
		v, ok := fixture.p.Receipts("room", fmt.Sprintf("m%05d", n), 0, 10)
		if !ok || v.Recipients != members-1 || v.Read != members-1 || len(v.List) != 10 || v.List[0].ReadAt == 0 || v.Next == 0 {
			t.Errorf("message %d: %+v", n, v)
		}
	}
}

// TestReceiptsAreSmall measures a receipt if each message is delivered to all members and read by
// each of them separately.
func TestReceiptsAreSmall(t *testing.T) {
	const members, messages = 50, 400
	delivered, read := newReceiptsFixture(t, members), newReceiptsFixture(t, members)
	for n := range messages {
		delivered.post(n)
		read.post(n)
		for user := 1; user < members; user++ {
			delivered.deliver(user, n)
			read.read(user, uint32(n+1))
		}
		if n%7 == 0 {
			mustCut(t, delivered.p)
			mustCut(t, read.p)
		}
	}
	for _, x := range []struct {
		what    string
		fixture *receiptsFixture
		bytes   int
	}{{"a delivery", delivered, 16}, {"a read", read, 24}} {
		entries, bytes := x.fixture.stored()
		t.Logf("%s costs %.1f bytes", x.what, float64(bytes)/float64(entries))
		if entries != (members-1)*messages || bytes > x.bytes*entries {
			t.Errorf("%s: %d entries of %d bytes", x.what, entries, bytes)
		}
	}
}

// TestReceiptsExpire: blocks whose messages are all older than 90 days are removed when the channel
// moves on, reads of them are no longer stored, and their readers are still known.
func TestReceiptsExpire(t *testing.T) {
	fixture := newReceiptsFixture(t, 3)
	for n := range 20 {
		fixture.post(n)
		fixture.read(1, uint32(n+1))
	}
	if entries, _ := fixture.stored(); entries != 20 {
		t.Fatalf("%d entries", entries)
	}
	fixture.now += receipts.Kept + 1000
	for n := 20; n < 32; n++ {
		fixture.post(n)
	}
	fixture.read(2, 12)
	fixture.read(2, 30)
	entries, _ := fixture.stored()
	if entries != 4+1 { // messages 17 to 20 share their block with newer ones
		t.Fatalf("%d entries after 90 days", entries)
	}
	if v, ok := fixture.p.Receipts("room", "m00030", 0, 10); !ok || v.Read != 0 || v.Recipients != 2 {
		t.Errorf("a new message: %+v", v)
	}
	v, ok := fixture.p.Receipts("room", "m00019", 0, 10)
	if !ok || v.Read != 2 || v.List[0].ReadAt != 0 {
		t.Errorf("an old message that is among the newest 16: %+v", v)
	}
}
