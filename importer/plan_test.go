package importer

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
)

// TestSorter: walk returns the entries in order, whether they fit into memory or not, any number of
// times.
func TestSorter(t *testing.T) {
	for _, limit := range []int{1, 1000, runBytes} {
		s := newSorter(t.TempDir())
		s.limit = limit
		r := rand.New(rand.NewPCG(1, 2))
		var want []string
		for i := range 500 {
			k, v := fmt.Sprint(r.IntN(200)), fmt.Sprint(i)
			want = append(want, k+"="+v)
			if err := s.add([]byte(k), []byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(want, func(a, b string) int {
			ka, va, _ := strings.Cut(a, "=")
			kb, vb, _ := strings.Cut(b, "=")
			if c := strings.Compare(ka, kb); c != 0 {
				return c
			}
			return strings.Compare(va, vb)
		})
		for _, from := range []string{"", "15"} {
			var got []string
			if err := s.walk([]byte(from), func(k, v []byte) error { got = append(got, string(k)+"="+string(v)); return nil }); err != nil {
				t.Fatal(err)
			}
			rest := slices.Clone(want)
			rest = slices.DeleteFunc(rest, func(e string) bool { k, _, _ := strings.Cut(e, "="); return k < from })
			if !slices.Equal(got, rest) {
				t.Errorf("limit %d, from %q: %d entries, want %d", limit, from, len(got), len(rest))
			}
		}
		s.close()
	}
}

func TestEventsAndPointersComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		e := Event{
			Kind: Kind(rapid.IntRange(1, 8).Draw(t, "kind")), Channel: text.Draw(t, "channel"), User: text.Draw(t, "user"), ID: text.Draw(t, "id"),
			Thread: text.Draw(t, "thread"), Text: text.Draw(t, "text"), At: rapid.Int64().Draw(t, "at"), Until: rapid.Int64().Draw(t, "until"),
			Seq: rapid.Uint32().Draw(t, "seq"), Mentions: rapid.SliceOf(text).Draw(t, "mentions"), MentionAll: rapid.Bool().Draw(t, "all"),
			Silent: rapid.Bool().Draw(t, "silent"), Broadcast: rapid.Bool().Draw(t, "broadcast"), Direct: rapid.Bool().Draw(t, "direct"), Private: rapid.Bool().Draw(t, "private"),
		}
		b := e.append(nil)
		got := Event{Mentions: []string{}}
		if err := got.decode(b); err != nil || !reflect.DeepEqual(got, e) {
			t.Fatalf("%+v, %v; want %+v", got, err, e)
		}
		if err := got.decode(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]); err == nil {
			t.Fatal("a part of an event was taken")
		}
	})
}

// Numeric ids sort by value, and a place depends on the event alone.
func TestPlaces(t *testing.T) {
	post := func(at int64, id string) []byte {
		return (&Event{Kind: KindPost, At: at, ID: id, Channel: "c"}).place()
	}
	ascending := [][]byte{
		(&Event{Kind: KindMember, At: 5, Channel: "c", User: "u"}).place(),
		post(5, "7"), post(5, "007"), behind(post(5, "9")), post(5, "10"), post(5, "a"), post(5, "ab"),
		key(5, rankDelete),
		(&Event{Kind: kindLeave, At: 5, Channel: "c", User: "u"}).place(),
		(&Event{Kind: KindChannelDeleted, At: 5, Channel: "c"}).place(),
		(&Event{Kind: KindPointer, At: 5, Channel: "c", User: "u"}).place(),
		post(6, "1"),
	}
	for i := 1; i < len(ascending); i++ {
		if bytes.Compare(ascending[i-1], ascending[i]) >= 0 {
			t.Errorf("%d: %x is not before %x", i, ascending[i-1], ascending[i])
		}
	}
}

// An import leaves out or corrects events that Tidemark cannot accept, and reports them. None stops
// it.
func TestWhatCannotBeMapped(t *testing.T) {
	long := strings.Repeat("x", 300)
	var log []string
	p := newPlan(t.TempDir(), 0, epoch+hour, &Problems{})
	defer p.close()
	p.sink = sinkFunc(func(channel string) { log = append(log, channel) })
	product := given{
		{Kind: KindChannel, Channel: long},
		{Kind: KindMember, Channel: "c", User: ""},
		{Kind: KindMember, Channel: "c", User: "ann", At: 10, Until: 5},
		{Kind: KindMember, Channel: "c", User: "bob"},
		{Kind: KindPost, Channel: "c", ID: "m1", User: "ann"},
		{Kind: KindPost, Channel: "c", ID: long, User: "ann", At: epoch},
		{Kind: KindPost, Channel: "c", ID: "m2", At: epoch, Mentions: []string{"a\x00", "bob"}},
		{Kind: KindPost, Channel: "c", ID: "m2", At: epoch, User: unknownSender, Mentions: []string{"bob"}},
		{Kind: KindPost, Channel: "c", ID: "m3", At: epoch + 1000*day, User: "ann", Until: 7},
		{Kind: KindPost, Channel: "c", ID: "m4", At: -5, User: "ann", Text: strings.Repeat("ä", 200) + "\xff"},
		{Kind: KindPointer, Channel: "c", User: "bob", ID: "nothing"},
		{Kind: KindPointer, Channel: "c", User: "bob"},
		{Kind: KindFollow, Channel: "c", User: "bob"},
	}
	if err := p.run(context.Background(), &Config{Progress: func(Progress) {}}, product, nil); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, x := range p.problems.List() {
		got[x.Reason] = x.Count
	}
	id := " is not an id: 1 to 255 bytes of UTF-8 without control characters"
	want := map[string]int64{
		"channel" + id: 1, "no user": 1, "somebody left before they joined": 1, "a message without a time": 1, "message" + id: 1,
		"a message without a sender: written as of unknown-sender": 1, "mentioned user" + id: 1,
		"a time ahead of the clock: taken as the time of the import": 1, "a time before 1970: taken as its beginning": 1,
		"a pointer at a message that the source does not have": 1, "no thread": 1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if len(log) != 5 { // bob, m2, m3 and its deletion, m4
		t.Errorf("%d records were written: %v", len(log), log)
	}
}

type sinkFunc func(channel string)

func (f sinkFunc) write(_ []byte, _ events.Input, channel string, _ []byte, _ int64) error {
	f(channel)
	return nil
}

// A preview has at most 140 characters, of any size in bytes.
func TestPreviewIsCut(t *testing.T) {
	if got := preview(strings.Repeat("ä", 200)); got != strings.Repeat("ä", 140) {
		t.Errorf("%d bytes", len(got))
	}
	if got := preview("a\xffb"); got != "a\ufffdb" {
		t.Errorf("%q", got)
	}
}

// Problems lists reasons with their first rows, the most frequent reason first.
func TestProblems(t *testing.T) {
	var p Problems
	for i := range 5 {
		p.Add(Origin{"messages", int64(i + 1)}, "often", strings.Repeat("ä", 100))
	}
	p.Add(Origin{"members", 9}, "once", "a row")
	list := p.List()
	if len(list) != 2 || list[0].Reason != "often" || list[0].Count != 5 || len(list[0].First) != 3 || list[1].First[0] != "members:9 a row" {
		t.Errorf("%+v", list)
	}
	if first := list[0].First[0]; first != "messages:1 "+strings.Repeat("ä", 40)+"…" {
		t.Errorf("%q", first)
	}
}
