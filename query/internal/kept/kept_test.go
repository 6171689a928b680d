package kept

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// fixture returns a partition in which every user is in many channels.
func fixture(t *testing.T, users, channels int) *projections.Partition {
	t.Helper()
	id := projections.Identity{ClusterID: "test", Partitions: 1, Settings: projections.DefaultSettings()}
	for in := range id.Topics {
		id.Topics[in].Name = events.InputTopics[in]
	}
	p, err := projections.Open("p", id, projections.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	p.Quiet(true)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	var ids [][]byte
	for u := range users {
		ids = append(ids, fmt.Appendf(nil, "user-%04d", u))
	}
	for c := range channels {
		p.FoldMessage(&events.Message{
			Kind: events.KindMembersJoined, ChannelID: fmt.Appendf(nil, "channel-%05d", c), IDs: ids, OccurredAt: 1,
		}, int64(c), 1)
	}
	return p
}

func listed(t *testing.T, l *Lists, user string, p *projections.Partition) *projections.Sweep {
	t.Helper()
	s := l.Take(user, 0, true)
	for !s.Step(p) {
	}
	return s
}

// TestListsAreKept: a list is kept for one later query of the same user in the same partition, and
// for no other.
func TestListsAreKept(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := New(func() time.Time { return now })
	p := fixture(t, 2, 500)
	s := listed(t, l, "user-0000", p)
	l.Put(0, s)
	for _, other := range []*projections.Sweep{l.Take("user-0001", 0, true), l.Take("user-0000", 1, true)} {
		if other == s {
			t.Error("the list of another user or partition")
		}
	}
	if l.Take("user-0000", 0, false) != s {
		t.Error("a list that has the channels too is not taken for threads")
	}
	if l.Take("user-0000", 0, true) == s {
		t.Error("a list is taken twice")
	}
	for !s.Step(p) {
	}
	l.Put(0, s)
	threads := &projections.Sweep{UserID: "user-0000", Panel: true}
	for !threads.Step(p) {
	}
	l.Put(0, threads)
	if l.Take("user-0000", 0, true) != s {
		t.Error("a list without channels takes the place of one with them")
	}
	for !s.Step(p) {
	}
	l.Put(0, s)
	now = now.Add(keepFor + 1)
	if l.Take("user-0000", 0, true) == s || l.bytes != 0 || l.order.Len() != 0 || len(l.byKey) != 0 {
		t.Errorf("%d lists of %d bytes are kept for too long", l.order.Len(), l.bytes)
	}
}

// TestListsAreBounded: however many users have much data, the memory of their lists is limited, and
// the most recent ones are kept.
func TestListsAreBounded(t *testing.T) {
	const users = 60
	l := New(time.Now)
	p := fixture(t, users, 5_000)
	for u := range users {
		l.Put(0, listed(t, l, fmt.Sprintf("user-%04d", u), p))
		if l.bytes > maxBytes {
			t.Fatalf("%d bytes after user %d", l.bytes, u)
		}
	}
	if n := l.order.Len(); n < 5 || n >= users || n != len(l.byKey) {
		t.Fatalf("%d lists of %d bytes are kept: not the case that is meant", n, l.bytes)
	}
	first := users - l.order.Len()
	for u := range users {
		s := l.Take(fmt.Sprintf("user-%04d", u), 0, true)
		if c, _ := s.Listed(); (c > 0) != (u >= first) {
			t.Errorf("user %d: %d channels are kept", u, c)
		}
	}
	if l.bytes != 0 {
		t.Errorf("%d bytes are left of nothing", l.bytes)
	}
}
