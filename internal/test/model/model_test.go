package model_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

func parse(t *testing.T, text string) script.Log {
	t.Helper()
	var p script.Parser
	records, err := p.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var l script.Log
	for _, r := range records {
		l.Add(r)
	}
	return l
}

// TestModel compares the model with numbers that were worked out by hand from DESIGN §4, without
// the fold.
func TestModel(t *testing.T) {
	for _, tt := range []struct{ rule, story, want string }{
		{
			"4.2: counted, live, of others, not read singly, above pointer and baseline",
			`b joins
			b posts m1
			a joins
			b posts m2..m7
			notice m8
			b posts m9 in thread m2
			a posts m10 in thread m2
			b posts m11 @a
			delete m5
			a reads up to m3
			a reads m6`,
			"a: 3 unread, 1 mention from m4 | read to m3 at 0:00:15", // m4 m7 m11
		},
		{
			"4.3: what waits is settled in the user's order",
			`a, b join
			a reads up to m3
			a marks unread m2
			a reads up to seq 2
			b posts m1..m4`,
			"a: 2 unread from m3 | read to m2 at 0:00:04 | epoch 2",
		},
		{
			"4.3: an own post after the stated head lifts the pointer, one before does not",
			`a, b join
			b posts m1
			a posts m2
			b posts m3
			a marks unread m1 head seq 3
			b posts m4`,
			"a: 3 unread from m1 | read nothing | epoch 2",
		},
		{
			"4.3: a mark drops single reads though the pointer is not past it",
			`a, b join
			b posts m1..m5
			a reads up to m1
			a reads m3, m5
			a marks unread m4`,
			"a: 3 unread from m2 | read to m1 at 0:00:07 | epoch 2", // m2 m4 m5
		},
		{
			"4.3: seven days",
			`a, b join
			a reads up to time 0:05:00 at 0:05:00
			b posts m1 at 0:04:00
			b posts x #other at 7d+0:05:00
			b posts m2 at 0:05:00
			b posts y #other at 7d+0:05:00.001
			b posts m3 at 0:05:00`,
			"a: 1 unread from m3 | read to m2 at 0:05:00",
		},
		{
			"4.6: ninety days",
			`a, b join
			b posts m1 at 0:00:02
			b posts m2 at 90d+0:00:02
			delete m1
			b posts m3 at 90d+0:00:02.001
			delete m2
			edit m1 @a
			a reads up to m1 at 90d+0:00:02.001`,
			"a: 1 unread from m3 | read nothing",
		},
	} {
		m := model.New(projections.DefaultSettings())
		log := parse(t, tt.story)
		for in := range events.Input(events.NumInputs) {
			for _, r := range log[in] {
				r.AddTo(m)
			}
		}
		v, ok := m.View("a", "c")
		if got := script.FormatView(&v); !ok || got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.rule, got, tt.want)
		}
	}
}

// TestUnknown: there is no view of a channel that chat.messages never named, or that is gone.
func TestUnknown(t *testing.T) {
	m := model.New(projections.DefaultSettings())
	log := parse(t, "a reads up to m1\nb posts m1 #d\ndelete the channel #d\nb posts m2 #d")
	for in := range events.Input(events.NumInputs) {
		for _, r := range log[in] {
			r.AddTo(m)
		}
	}
	for _, c := range []string{"c", "d", "e"} {
		if _, ok := m.View("a", c); ok {
			t.Errorf("there is a view of #%s", c)
		}
		if _, ok := m.Channel(c); ok {
			t.Errorf("there is a #%s", c)
		}
	}
	if m.Deleted("c") || !m.Deleted("d") {
		t.Error("only #d was deleted")
	}
}

// TestDiff: if only one side has a record, Diff names everything that the record changes and
// nothing else.
func TestDiff(t *testing.T) {
	id := projections.Identity{ClusterID: "test", Partitions: 1, Settings: projections.DefaultSettings()}
	p, err := projections.Open("store", id, projections.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	m := model.New(id.Settings)
	log := parse(t, "a, b join\nb posts m1\na reads up to m1")
	for _, r := range append(log[events.Messages], log[events.Reads]...) {
		r.AddTo(m)
		r.Fold(p)
	}
	if d := m.Diff(p); d != "" {
		t.Fatalf("both have the same records, but\n%s", d)
	}
	more := parse(t, "a, b join\nb posts m1\nb posts m2")[events.Messages][2]
	more.Fold(p)
	d := m.Diff(p)
	for _, part := range []string{"Channel(c):", "View(a, c):", "Explain(a, c):", "Inbox(a):", "View(b, c):"} {
		if !strings.Contains(d, part) {
			t.Errorf("no difference of %s in\n%s", part, d)
		}
	}
}

// TestDifferences names the fields that differ, and no others.
func TestDifferences(t *testing.T) {
	a := projections.View{UserID: "a", Muted: true, Excluded: []uint32{12}, Labels: []string{}}
	b := projections.View{UserID: "a"}
	if d := model.Differences(a, a); d != "" {
		t.Errorf("of equal views: %s", d)
	}
	if got, want := model.Differences(a, b), "    Muted is true, want false\n    Excluded is [12], want []"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
