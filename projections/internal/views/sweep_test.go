package views_test

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/views"
)

// A list is made under many holds of the lock, and the fold continues in between. The list is that
// of the position at the last hold.
func TestSweepBetweenFolds(t *testing.T) {
	several := 0
	for n := range 120 {
		settings, records := randomScript(n)
		users, _ := names(records)
		for _, user := range users {
			a := newAlone(settings)
			half := len(records) / 2
			for i := range records[:half] {
				records[i].Fold(&a.fold)
			}
			s := &views.Sweep{UserID: user, Inbox: true, Panel: true, PerHold: 1 + n%2}
			for next := half; !s.Step(&a.Queries); {
				if next < len(records) {
					records[next].Fold(&a.fold)
					next++
				}
			}
			if s.Holds > 1 {
				several++
			}
			compareSweep(t, a, s)
			s.Free()
			if t.Failed() {
				t.Fatalf("the list of %s in script %d, under holds of %d", user, n, s.PerHold)
			}
		}
	}
	if several < 20 {
		t.Errorf("only %d lists took several holds", several)
	}
}

// compareSweep compares a complete list with the result of examining all rows at once.
func compareSweep(t *testing.T, a *alone, s *views.Sweep) {
	t.Helper()
	type line struct {
		channel, thread  string
		unread, mentions uint32
		muted            bool
		at               int64
	}
	order := func(x, y line) int { return cmp.Or(cmp.Compare(x.channel, y.channel), cmp.Compare(x.thread, y.thread)) }
	var got, want []line
	s.EachChannel(func(e *views.InboxEntry) {
		got = append(got, line{string(e.ChannelID), "", e.Unread, e.Mentions, e.Muted, e.LatestAt})
	})
	s.EachThread(func(e *views.ThreadEntry) {
		got = append(got, line{string(e.ChannelID), string(e.ThreadID), e.Unread, e.Mentions, e.Muted, e.RepliedAt})
	})
	err := a.Inbox(s.UserID, func(e *views.InboxEntry) bool {
		want = append(want, line{string(e.ChannelID), "", e.Unread, e.Mentions, e.Muted, e.LatestAt})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	err = a.Threads(s.UserID, func(v *views.ThreadView) bool {
		want = append(want, line{v.ChannelID, v.ThreadID, v.Unread, v.Mentions, v.Muted, v.LastReply.At})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the list is\n%+v\nand one look finds\n%+v", got, want)
	}
}

// A list that was put aside keeps its version, unless its contents have changed.
func TestSweepAside(t *testing.T) {
	a := tell(t, "a, u join\na posts m1\na, u join #d\na posts n1 #d")
	s := &views.Sweep{UserID: "u", Inbox: true}
	for !s.Step(&a.Queries) {
	}
	compareSweep(t, a, s)
	was := s.Version()
	if bytes := s.Aside(); bytes == 0 || !s.IsAside() {
		t.Fatalf("a list of %d bytes was put aside: %v", bytes, s.IsAside())
	}
	for !s.Step(&a.Queries) {
	}
	if is := s.Version(); is != was {
		t.Errorf("nothing was folded, and the version went from %d to %d", was, is)
	}
	s.Aside()
	a.more(t, "a posts n2 #d")
	for !s.Step(&a.Queries) {
	}
	if s.Version() == was {
		t.Errorf("a message was folded, and the version is %d as before", was)
	}
	compareSweep(t, a, s)
	s.Free()
}
