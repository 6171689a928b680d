package entry

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
)

// The parser for the writer's own bytes gives the same result as encoding/json.
func TestParseOwnAgainstEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDelta().Draw(t, "delta")
		value := string(AppendValue(nil, d))
		var w wireEntry
		if err := json.Unmarshal([]byte(value), &w); err != nil {
			t.Fatal(err)
		}
		want, err := w.entry()
		if err != nil {
			t.Fatal(err)
		}
		got, ok := parseOwn(value)
		if !ok && !strings.Contains(value, `\`) {
			t.Fatalf("not read: %s", value)
		}
		if ok && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\n got %+v\nwant %+v", value, got, want)
		}
		// A value that is cut short is never read as something else.
		cut := value[:rapid.IntRange(0, len(value)-1).Draw(t, "cut")]
		if e, ok := parseOwn(cut); ok {
			t.Fatalf("%s was read as %+v", cut, e)
		}
	})
}

func TestParseEntryOfAnotherVersion(t *testing.T) {
	const value = `{"unread":7,"later":[1],"mentions":1,"stamp":"2.3.4.5","read_epoch":1}`
	e, err := Parse("c", value)
	if err != nil {
		t.Fatal(err)
	}
	want := Entry{ChannelID: "c", Known: true, Unread: 7, Mentions: 1, ReadEpoch: 1, Stamp: events.Stamp{FoldVersion: 2, M: 3, R: 4, D: 5}}
	if !reflect.DeepEqual(e, want) {
		t.Errorf("got %+v, want %+v", e, want)
	}
}

func TestParseEntryErrors(t *testing.T) {
	for value, want := range map[string]string{
		`garbage`:                                     "invalid character",
		`{"unread":-1,"stamp":"1.2.3.4"}`:             "unread",
		`{"unread":1,"stamp":"1.2.3"}`:                "fold_version.m.r.d",
		`{"unread":1,"stamp":"1.2.3.4.5"}`:            "fold_version.m.r.d",
		`{"stamp":"1.2.3.4","excluded":"x"}`:          "excluded",
		`{"stamp":"1.2.3.4","latest_at":"yesterday"}`: "latest_at",
		`{"stamp":"1.2.3.4","touched_at":"soon"}`:     "touched_at",
		`{"stamp":"1.2.3.4","level":"SOMETIMES"}`:     "level: ",
		`{"stamp":"1.2.3.4","level_after":"NEVER"}`:   "level_after: ",
		`{"stamp":"1.2.3.4","until":"noon"}`:          "until: ",
	} {
		if _, err := Parse("chan", value); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "chan") {
			t.Errorf("%s: got %v, want an error with %q and the channel", value, err, want)
		}
	}
}

func TestParseUpdate(t *testing.T) {
	u, err := ParseUpdate(`{"user_id":"u","channel_id":"c","member":true,` + string(AppendValue(nil, small("u", "c", 7, 3)))[1:])
	if err != nil {
		t.Fatal(err)
	}
	want := Update{UserID: "u", Member: true, Entry: Entry{
		ChannelID: "c", Known: true, Unread: 7, Mentions: 1, FirstUnreadID: "m1", LatestSeq: 7,
		LatestAt: time.UnixMilli(t0 + 7).UTC(), ReadEpoch: 1, Stamp: stampOf(7, 3),
	}}
	if !reflect.DeepEqual(u, want) {
		t.Errorf("got %+v, want %+v", u, want)
	}
	if _, err := ParseUpdate("x"); err == nil {
		t.Error("garbage was read as an update")
	}
}
