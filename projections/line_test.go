package projections

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
)

// TestLinesUnderTheLock: a view with a line by id is begun without a read of the store, wherever
// the message is: in memory, in a block or in the index, written since the last cut, in a cut that
// is not applied, or stored. The view shows the state under the lock, whatever is folded and cut
// before it ends.
func TestLinesUnderTheLock(t *testing.T) {
	fixture := newReceiptsFixture(t, 2)
	var ids []string
	post := func(id string) {
		fixture.message(events.Message{Kind: events.KindMessagePosted, MessageID: []byte(id), SenderID: []byte("user-00000")})
		ids = append(ids, id)
	}
	posts := func(from, to int) {
		for n := from; n < to; n++ {
			if n%5 == 3 {
				post(fmt.Sprintf("a%05d", 99_999-n)) // ids that do not grow are in the index
			} else {
				post(fmt.Sprintf("m%05d", n)) // only in the log
			}
		}
	}
	posts(0, 100)
	fixture.now += int64(100 * 24 * time.Hour / time.Millisecond) // they leave the index
	posts(100, 200)
	post("m00003")
	post("a99996") // reuses the id
	posts(200, 300)
	mustCut(t, fixture.p)
	posts(300, 400)
	var d Deltas
	fixture.p.Drain(&d, true)
	cut, err := fixture.p.Cut()
	if err != nil {
		t.Fatal(err)
	}
	posts(400, 500)
	fixture.message(events.Message{Kind: events.KindMessageDeleted, MessageID: []byte("m00450")})
	fixture.message(events.Message{Kind: events.KindMessageEdited, MessageID: []byte("m00251"), Preview: []byte("again")})
	ids = append(ids, "never", "a", "z", "m00003x")

	line := func(id string) {
		fixture.now += 37
		fixture.p.rules.FoldRead(&events.Read{Kind: events.KindLineSet, ChannelID: []byte("room"), UserID: []byte("user-00001"), OccurredAt: fixture.now,
			MessageID: []byte(id)}, fixture.r, fixture.now)
		fixture.r++
	}
	check := func(when string) {
		t.Helper()
		known := 0
		for i, id := range ids {
			line(id)
			looks := 0
			fixture.p.onRead = func() { looks++ }
			views := fixture.p.BeginViews()
			got, _ := views.View("user-00001", "room")
			fixture.p.onRead = nil
			if looks > 0 {
				t.Fatalf("%s, line at %s: %d looks at the store under the lock", when, id, looks)
			}
			want, _ := fixture.p.View("user-00001", "room")
			if i%50 == 0 { // while the answer is made
				fixture.post(10_000 + len(ids) + i)
				if when != "beside a cut" {
					mustCut(t, fixture.p)
				}
			}
			if err := views.End(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got.LineKnown != want.LineKnown || got.Line != want.Line {
				t.Fatalf("%s, line at %s: %+v, want %+v", when, id, got.LineKnown, want.LineKnown)
			}
			if want.LineKnown.Seq != 0 {
				known++
			}
		}
		if known < 400 || known > len(ids)-80 {
			t.Errorf("%s: %d of %d are known", when, known, len(ids))
		}
	}
	check("beside a cut")
	fixture.apply(cut)
	check("after it")
}
