package projections

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
)

// published drains the partition and returns the contents of its records of receipts, by user.
func (r *receiptsFixture) published() (out []string) {
	r.t.Helper()
	var d Deltas
	r.p.Drain(&d, true)
	for i := range d.Records {
		if d.Records[i].Topic != OutReceipts {
			continue
		}
		var x events.ReceiptsRecord
		if err := events.DecodeReceiptsRecord(d.Records[i].Value, &x); err != nil {
			r.t.Fatal(err)
		}
		if len(x.Readers)+len(x.Delivered) == 0 {
			r.t.Error("a record that tells nothing")
		}
		for _, e := range x.Readers {
			out = append(out, fmt.Sprintf("%s read %d", e.UserID, e.Seq))
		}
		for _, e := range x.Delivered {
			out = append(out, fmt.Sprintf("%s got %d", e.UserID, e.Seq))
		}
	}
	slices.Sort(out)
	return out
}

func (r *receiptsFixture) erase(user int) {
	r.now += 37
	r.p.rules.FoldRead(&events.Read{Kind: events.KindUserErased, ChannelID: []byte("room"), UserID: fmt.Appendf(nil, "user-%05d", user),
		OccurredAt: r.now}, r.r, r.now)
	r.r++
}

// TestReceiptsOfAnErasedUserAreNotTold: a batch publishes no receipt of a user whom it erases, even
// if the receipt came before the erasure. If a channel has no other receipts, it publishes none.
func TestReceiptsOfAnErasedUserAreNotTold(t *testing.T) {
	fixture := newReceiptsFixture(t, 4)
	for n := range 3 {
		fixture.post(n)
	}
	fixture.read(1, 2)
	fixture.deliver(1, 0)
	fixture.erase(1)
	if published := fixture.published(); len(published) > 0 {
		t.Errorf("of an erased user alone: %q", published)
	}
	fixture.deliver(2, 1)
	fixture.read(2, 2)
	fixture.erase(2)
	fixture.read(3, 3)
	fixture.read(2, 3)
	if published := fixture.published(); !slices.Equal(published, []string{"user-00003 read 3"}) {
		t.Errorf("of an erased user and another: %q", published)
	}
	fixture.deliver(3, 0)
	if published := fixture.published(); !slices.Equal(published, []string{"user-00003 got 1"}) {
		t.Errorf("afterwards: %q", published)
	}
}

// TestReceiptsOfABacklogFitIntoRecords: the receipts of one channel in a batch may exceed what a
// topic takes in one record, which would stop the partition. All of them are published, once, in
// records that fit.
func TestReceiptsOfABacklogFitIntoRecords(t *testing.T) {
	const members, posts = 40, 300
	fixture := newReceiptsFixture(t, members)
	for n := range posts {
		fixture.post(n)
	}
	fixture.published()
	want := 0
	for user := 1; user < members; user++ {
		for n := range posts {
			fixture.deliver(user, n)
			want++
		}
	}
	var d Deltas
	fixture.p.Drain(&d, true)
	published := map[string]bool{}
	for i := range d.Records {
		r := &d.Records[i]
		if r.Topic != OutReceipts {
			continue
		}
		if n := len(r.Key) + len(r.Value); n > 2*receiptsBytes {
			t.Errorf("a record of %d bytes", n)
		}
		var x events.ReceiptsRecord
		if err := events.DecodeReceiptsRecord(r.Value, &x); err != nil || string(x.ChannelID) != "room" {
			t.Fatalf("receipts of %q: %v", x.ChannelID, err)
		}
		for _, e := range x.Delivered {
			published[fmt.Sprintf("%s %d", e.UserID, e.Seq)] = true
			want--
		}
	}
	if want != 0 || len(published) != (members-1)*posts {
		t.Errorf("%d different deliveries are told of %d, %d are missing or told twice", len(published), (members-1)*posts, want)
	}
}

// TestReceiptsOfManyErasedUsersGoTogether: one batch erases users on several pages of members. None
// of their receipts is left, and all receipts of the other users are.
func TestReceiptsOfManyErasedUsersGoTogether(t *testing.T) {
	const members, posts = 150, 20
	fixture := newReceiptsFixture(t, members)
	for n := range posts {
		fixture.post(n)
	}
	for user := 1; user < members; user++ {
		fixture.read(user, uint32(1+user%posts))
		fixture.read(user, posts)
	}
	mustCut(t, fixture.p)
	before, _ := fixture.stored()
	erased := 0
	for user := 1; user < members; user += 3 {
		fixture.erase(user)
		erased++
	}
	mustCut(t, fixture.p)
	v, _ := fixture.p.Receipts("room", "m00000", 0, members)
	for _, r := range v.List {
		if !r.Read || r.ReadAt == 0 {
			t.Errorf("of %s: %+v", r.UserID, r)
		}
	}
	after, _ := fixture.stored()
	if want := members - 1 - erased; len(v.List) != want || after >= before || after < want {
		t.Errorf("%d recipients, want %d; %d entries are stored, %d before %d users were erased", len(v.List), want, after, before, erased)
	}
}
