package importer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// ascending collects the reads that an import writes, and checks that their keys ascend. Only then
// can an import continue where it ended.
type ascending struct {
	t     *testing.T
	last  []byte
	reads []*eventsv1.ReadEvent
}

func (a *ascending) write(key []byte, in events.Input, _ string, value []byte, _ int64) error {
	if in != events.Reads {
		return nil
	}
	if bytes.Compare(key, a.last) <= 0 {
		a.t.Errorf("%x is written behind %x", key, a.last)
	}
	a.last = bytes.Clone(key)
	e := &eventsv1.ReadEvent{}
	a.reads = append(a.reads, e)
	return proto.Unmarshal(value, e)
}

// readsWritten returns the reads that an import of the events writes.
func readsWritten(t *testing.T, product given, cut, now int64) (*ascending, *Problems) {
	t.Helper()
	problems := &Problems{}
	p := newPlan(t.TempDir(), cut, now, problems)
	defer p.close()
	p.singles.limit = 1000
	out := &ascending{t: t}
	p.sink = out
	if err := p.run(context.Background(), &Config{Progress: func(Progress) {}}, product, nil); err != nil {
		t.Fatal(err)
	}
	return out, problems
}

// Single reads come after the pointer of their user, each message once, at most 1,000 in an event.
// Reads of messages that are too old to be named are counted.
func TestSingleReads(t *testing.T) {
	product := given{{Kind: KindMember, Channel: "c", User: "ann", At: epoch}, {Kind: KindPointer, Channel: "c", User: "ann", ID: "m0100", Before: true}}
	for i := range 2600 {
		id, at := fmt.Sprintf("m%04d", i), epoch+int64(i)
		product = append(product, Event{Kind: KindPost, Channel: "c", ID: id, User: "bob", At: at})
		for _, user := range []string{"ann", "ann", "cem"} {
			if i > 100 {
				product = append(product, Event{Kind: KindSingle, Channel: "c", User: user, ID: id, At: at})
			}
		}
	}
	out, problems := readsWritten(t, product, 0, epoch+hour)
	if list := problems.List(); len(list) > 0 {
		t.Errorf("%+v", list)
	}
	var sizes []int
	ids := map[string][]string{}
	for i, e := range out.reads {
		if x := e.GetMessagesRead(); x != nil {
			sizes = append(sizes, len(x.MessageIds))
			ids[e.UserId] = append(ids[e.UserId], x.MessageIds...)
		} else if i > 0 || e.GetReadUpTo().GetSeq() != 100 {
			t.Errorf("the %d-th read is %v", i, e)
		}
	}
	if !slices.Equal(sizes, []int{1000, 1000, 499, 1000, 1000, 499}) || len(ids["ann"]) != 2499 || !slices.Equal(ids["ann"], ids["cem"]) {
		t.Errorf("sizes %v, %d and %d ids", sizes, len(ids["ann"]), len(ids["cem"]))
	}
	for _, c := range []struct{ cut, now int64 }{{epoch + 2, epoch + hour}, {0, epoch + 91*day}} {
		out, problems := readsWritten(t, given{
			{Kind: KindPost, Channel: "c", ID: "m1", User: "bob", At: epoch + 1}, {Kind: KindSingle, Channel: "c", User: "ann", ID: "m1", At: epoch + 1},
			{Kind: KindSingle, Channel: "c", User: "ann"},
		}, c.cut, c.now)
		list := problems.List()
		if len(out.reads) > 0 || len(list) != 2 || !strings.Contains(list[0].Reason+list[1].Reason, "too old to be named") {
			t.Errorf("cut %d: %v, %+v", c.cut, out.reads, list)
		}
	}
}

// A pointer right before a message includes all earlier messages, even those of the same
// millisecond, and even if the channel's id sorts before or after the user's.
func TestPointersBeforeMessages(t *testing.T) {
	for _, channel := range []string{"a", "zzz"} {
		for _, user := range []string{"ann", "zoe", "!"} {
			product := given{{Kind: KindMember, Channel: channel, User: user, At: epoch}}
			for i := range 5 {
				product = append(product, Event{Kind: KindPost, Channel: channel, ID: fmt.Sprint(8 + i), User: "bob", At: epoch + 1})
			}
			product = slices.Insert(product, 1, Event{Kind: KindPointer, Channel: channel, User: user, ID: "10", Before: true})
			if out, _ := readsWritten(t, product, 0, epoch+hour); len(out.reads) != 1 || out.reads[0].GetReadUpTo().GetSeq() != 2 {
				t.Errorf("%s in %s: %v", user, channel, out.reads)
			}
		}
	}
}

// A pointer that includes threads does so wherever the cut is.
func TestPointersWithThreads(t *testing.T) {
	for _, cut := range []int64{0, epoch + 2, epoch + 10} {
		out, _ := readsWritten(t, given{
			{Kind: KindMember, Channel: "c", User: "ann", At: epoch},
			{Kind: KindPointer, Channel: "c", User: "ann", At: epoch + 3, Threads: true, Private: true},
			{Kind: KindPost, Channel: "c", ID: "m1", User: "ann", At: epoch + 1}, {Kind: KindPost, Channel: "c", ID: "m2", User: "bob", At: epoch + 2, Thread: "m1"},
			{Kind: KindPost, Channel: "c", ID: "m3", User: "bob", At: epoch + 3, Thread: "m1"},
		}, cut, epoch+hour)
		if len(out.reads) != 1 || !out.reads[0].GetReadUpTo().GetWithThreads() || !out.reads[0].GetReadUpTo().GetPrivate() {
			t.Errorf("cut %d: %v", cut, out.reads)
		}
	}
}
