package projections

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestChannelsLeaveWhole: whenever the lock is free while a large channel leaves memory, a reader finds
// all of it, in memory or in the store, and in one of them only.
func TestChannelsLeaveWhole(t *testing.T) {
	const members = 3_000
	var p *Partition
	var want []any
	holds, cold := 0, 0
	answers := func() []any {
		q := p
		read := p.ColdChannel("room")
		if read != nil {
			defer read.Close()
			var err error
			if q, err = read.Load(); err != nil {
				t.Fatal(err)
			}
		}
		var out []any
		for _, user := range []string{"user-0", "user-1", "user-2999", "guest"} {
			v, ok := q.View(user, "room")
			x, follows := q.Thread(user, "room", "m1")
			out = append(out, v, ok, x, follows)
		}
		return out
	}
	sources := func(user string) (n int) {
		for ref := p.rules.Users.At(p.rules.UserOf([]byte(user))).First; ref != 0; ref = p.rules.Rows.At(ref).NextUser {
			if p.rules.Rows.At(ref).Channel != 0 {
				n++
			}
		}
		if read := p.ColdOf(user); read != nil {
			n += len(read.lists)
			read.Close()
		}
		return n
	}
	watch := func() {
		holds++
		if p.IsCold("room") {
			cold++
		}
		if got := answers(); !reflect.DeepEqual(got, want) {
			t.Errorf("hold %d, cold %t: answers\n%+v\ninstead of\n%+v", holds, p.IsCold("room"), got, want)
		}
		for _, user := range []string{"user-0", "user-1", "user-2999"} {
			if n := sources(user); n != 1 {
				t.Errorf("hold %d: %s finds the channel %d times", holds, user, n)
			}
		}
		if err := p.rules.Err(); err != nil {
			t.Fatal(err)
		}
	}
	memory := int64(0)
	watching := false
	p, err := Open("store", Identity{ClusterID: "c", Partitions: 1, Settings: DefaultSettings()}, Options{FS: vfs.NewMem(), Memory: func() int64 { return memory },
		OnHold: func(cause string) func() {
			if watching && cause == "release" {
				watching = false // its own reads
				watch()
				watching = true
			}
			return unwatched
		}})
	if err != nil {
		t.Fatal(err)
	}
	fold := func(m *events.Message) {
		m.ChannelID, m.OccurredAt = []byte("room"), 1
		p.FoldMessage(m, p.rules.Positions[events.Messages], 1)
	}
	for round := range 3 { // the channel comes back in between
		if round == 0 {
			ids := make([][]byte, members)
			for i := range ids {
				ids[i] = fmt.Appendf(nil, "user-%d", i)
			}
			fold(&events.Message{Kind: events.KindMembersJoined, IDs: ids})
			fold(&events.Message{Kind: events.KindMessagePosted, MessageID: []byte("m1"), SenderID: []byte("user-1")})
			p.FoldRead(&events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("room"), UserID: []byte("guest"), OccurredAt: 1, Target: events.TargetSeq, Seq: 1}, 0, 1)
		}
		fold(&events.Message{Kind: events.KindMessagePosted, MessageID: fmt.Appendf(nil, "reply-%d", round), SenderID: []byte("user-2"), ThreadID: []byte("m1"), IDs: [][]byte{[]byte("user-0")}})
		p.Drain(nil, true)
		mustCut(t, p)
		want, memory, watching = answers(), 1, true
		for range 2 {
			mustCut(t, p)
		}
		memory, watching = 0, false
		if p.Stats().ColdChannels != 1 || !reflect.DeepEqual(answers(), want) {
			t.Fatalf("round %d: %d channels are cold, or its answers are others", round, p.Stats().ColdChannels)
		}
	}
	if holds < 6 || cold == 0 {
		t.Errorf("the lock was taken %d times, and the channel was cold %d times", holds, cold)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
