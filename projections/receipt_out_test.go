package projections

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
)

// told drains the partition and returns the contents of its records of receipts, by user.
func (r *receiptsRoom) told() (out []string) {
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

func (r *receiptsRoom) erase(user int) {
	r.now += 37
	r.p.rules.FoldRead(&events.Read{Kind: events.KindUserErased, ChannelID: []byte("room"), UserID: fmt.Appendf(nil, "user-%05d", user),
		OccurredAt: r.now}, r.r, r.now)
	r.r++
}

// TestReceiptsOfAnErasedUserAreNotTold: also not those that were noted before the erasure in the
// same batch, and where they were all that there was to tell, nothing is.
func TestReceiptsOfAnErasedUserAreNotTold(t *testing.T) {
	room := newReceiptsRoom(t, 4)
	for n := range 3 {
		room.post(n)
	}
	room.read(1, 2)
	room.deliver(1, 0)
	room.erase(1)
	if told := room.told(); len(told) > 0 {
		t.Errorf("of an erased user alone: %q", told)
	}
	room.deliver(2, 1)
	room.read(2, 2)
	room.erase(2)
	room.read(3, 3)
	room.read(2, 3)
	if told := room.told(); !slices.Equal(told, []string{"user-00003 read 3"}) {
		t.Errorf("of an erased user and another: %q", told)
	}
	room.deliver(3, 0)
	if told := room.told(); !slices.Equal(told, []string{"user-00003 got 1"}) {
		t.Errorf("afterwards: %q", told)
	}
}

// TestReceiptsOfABacklogFitIntoRecords: the receipts of one channel in a batch may exceed what a
// topic takes in one record, which would stop the partition. All of them are published, once, in
// records that fit.
func TestReceiptsOfABacklogFitIntoRecords(t *testing.T) {
	const members, posts = 40, 300
	room := newReceiptsRoom(t, members)
	for n := range posts {
		room.post(n)
	}
	room.told()
	want := 0
	for user := 1; user < members; user++ {
		for n := range posts {
			room.deliver(user, n)
			want++
		}
	}
	var d Deltas
	room.p.Drain(&d, true)
	told := map[string]bool{}
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
			told[fmt.Sprintf("%s %d", e.UserID, e.Seq)] = true
			want--
		}
	}
	if want != 0 || len(told) != (members-1)*posts {
		t.Errorf("%d different deliveries are told of %d, %d are missing or told twice", len(told), (members-1)*posts, want)
	}
}

// TestReceiptsOfManyErasedUsersGoTogether: of users on several pages of members who are erased in
// one batch nothing is left, and everything of the others is.
func TestReceiptsOfManyErasedUsersGoTogether(t *testing.T) {
	const members, posts = 150, 20
	room := newReceiptsRoom(t, members)
	for n := range posts {
		room.post(n)
	}
	for user := 1; user < members; user++ {
		room.read(user, uint32(1+user%posts))
		room.read(user, posts)
	}
	mustCut(t, room.p)
	before, _ := room.stored()
	erased := 0
	for user := 1; user < members; user += 3 {
		room.erase(user)
		erased++
	}
	mustCut(t, room.p)
	v, _ := room.p.Receipts("room", "m00000", 0, members)
	for _, r := range v.List {
		if !r.Read || r.ReadAt == 0 {
			t.Errorf("of %s: %+v", r.UserID, r)
		}
	}
	after, _ := room.stored()
	if want := members - 1 - erased; len(v.List) != want || after >= before || after < want {
		t.Errorf("%d recipients, want %d; %d entries are stored, %d before %d users were erased", len(v.List), want, after, before, erased)
	}
}
