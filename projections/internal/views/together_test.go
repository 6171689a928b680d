package views_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/views"
)

// Views that are begun together and completed without the lock equal those that are read one by one
// under it. They have nothing that is folded in between.
func TestTogetherAsOneByOne(t *testing.T) {
	later := 0
	for n := range 120 {
		settings, records := randomScript(n)
		users, channels := names(records)
		a := newAlone(settings)
		cut := len(records) - len(records)/4
		for i := range records[:cut] {
			records[i].Fold(&a.fold)
		}
		mem := &views.ViewMemory{}
		mem.Reserve(len(users)*len(channels), 0)
		together := a.BeginViewsIn(mem)
		var got []*views.View
		var want []views.View
		for _, u := range users {
			for _, c := range channels {
				one, known := a.View(u, c)
				v, same := together.View(u, c)
				if known != same {
					t.Fatalf("script %d: %s in %s is known: %v, together: %v", n, u, c, known, same)
				}
				if known {
					got, want = append(got, v), append(want, one)
				}
			}
		}
		for i := range records[cut:] {
			records[cut+i].Fold(&a.fold)
		}
		if err := together.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		later += a.store.begun
		if a.store.begun != a.store.closed {
			t.Fatalf("script %d: %d iterators were begun, and %d closed", n, a.store.begun, a.store.closed)
		}
		for i := range got {
			if !reflect.DeepEqual(*got[i], want[i]) {
				t.Fatalf("script %d: together\n%+v\nalone\n%+v", n, *got[i], want[i])
			}
		}
		mem.Free()
	}
	if later == 0 {
		t.Error("no script has a message that is read without the lock")
	}
}

// An explanation counts from the log, and a view counts by rank. Both must have the same number. An
// explanation names each of its messages, or says how many have no name.
func TestExplanationsAddUp(t *testing.T) {
	unread := uint32(0)
	for n := range 120 {
		settings, records := randomScript(n)
		users, channels := names(records)
		a := newAlone(settings)
		for i := range records {
			records[i].Fold(&a.fold)
		}
		for _, u := range users {
			for _, c := range channels {
				v, known := a.View(u, c)
				x, same := a.Explain(u, c)
				if known != same || x.Unread != v.Unread || !x.More && uint32(len(x.MessageIDs))+x.Unnamed != x.Unread {
					t.Fatalf("script %d: %s in %s: %d unread, explained as %+v", n, u, c, v.Unread, x)
				}
				unread += v.Unread
			}
		}
	}
	if unread < 100 {
		t.Errorf("only %d messages are unread in all scripts", unread)
	}
}

// Pages of any size have every channel of a user once, in the order of the ids.
func TestUserPages(t *testing.T) {
	text := ""
	var want []string
	for i := range 23 {
		id := fmt.Sprintf("c%02d", i*7%23)
		text += "a, u join #" + id + "\n"
		want = append(want, id)
	}
	slices.Sort(want)
	a := tell(t, text)
	for size := 1; size <= 24; size++ {
		var got []string
		for after := ""; ; {
			page := views.NewUserPage(after, size)
			if err := page.Fill(&a.Queries, nil, "u"); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, r := range page.Rows {
				ids = append(ids, string(r.ChannelID))
			}
			slices.Sort(ids) // a page itself has no order
			got = append(got, ids...)
			if len(ids) < size {
				break
			}
			after = ids[len(ids)-1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d have %v", size, got)
		}
	}
}

func TestLabelsOfAStanding(t *testing.T) {
	var none *views.Standing
	if got := none.Labels(); got != nil {
		t.Errorf("nothing was said, and the labels are %q", got)
	}
	for _, x := range []struct{ channels, own, want []string }{
		{nil, nil, nil},
		{[]string{"a", "c"}, nil, []string{"a", "c"}},
		{nil, []string{"b"}, []string{"b"}},
		{[]string{"a", "c"}, []string{"b", "c"}, []string{"a", "b", "c"}},
	} {
		s := views.Standing{Levels: events.Levels{}, ChannelLabels: x.channels, OwnLabels: x.own}
		if got := s.Labels(); !slices.Equal(got, x.want) {
			t.Errorf("%q and %q come to %q", x.channels, x.own, got)
		}
	}
}
