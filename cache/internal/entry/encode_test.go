package entry

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
)

func TestValueBytes(t *testing.T) {
	d := small("u", "c", 7, 3)
	d.LastRead, d.LastReadAt = events.Ref{MessageID: []byte("m4"), Seq: 4}, t0
	d.OfflineUnread, d.Muted, d.ReadEpoch, d.Stamp.D = 2, true, 3, 1
	const want = `{"unread":7,"mentions":1,"offline_unread":2,"first_unread_id":"m1","last_read_seq":4,"read_pos":0,"excluded":"",` +
		`"mentioned":"","latest_seq":7,"latest_at":"2026-01-02T03:04:05.685Z","large":false,"muted":true,"read_epoch":3,"level":"NONE","stamp":"1.7.3.1"}`
	if got := string(AppendValue(nil, d)); got != want {
		t.Errorf("small channel:\n got %s\nwant %s", got, want)
	}
	empty := &events.UnreadDelta{ReadEpoch: 1, Stamp: stampOf(1, 0)}
	const wantEmpty = `{"unread":0,"mentions":0,"offline_unread":0,"first_unread_id":"","last_read_seq":0,"read_pos":0,"excluded":"",` +
		`"mentioned":"","latest_seq":0,"latest_at":"","large":false,"muted":false,"read_epoch":1,"stamp":"1.1.0.0"}`
	if got := string(AppendValue(nil, empty)); got != wantEmpty {
		t.Errorf("nothing in the channel:\n got %s\nwant %s", got, wantEmpty)
	}
	thread := small("u", "c", 7, 3)
	thread.ThreadID, thread.TouchedAt = []byte("t"), thread.Latest.At
	const wantThread = `{"unread":7,"mentions":1,"offline_unread":0,"first_unread_id":"m1","last_read_seq":0,"read_pos":0,"excluded":"",` +
		`"mentioned":"","latest_seq":7,"latest_at":"2026-01-02T03:04:05.685Z","large":false,"muted":false,"read_epoch":1,` +
		`"touched_at":"2026-01-02T03:04:05.685Z","stamp":"1.7.3.0"}`
	if got := string(AppendValue(nil, thread)); got != wantThread {
		t.Errorf("thread:\n got %s\nwant %s", got, wantThread)
	}
	large := &events.UnreadDelta{
		Large: true, Mentions: 2, ReadPos: 10, Excluded: []uint32{12, 14, 15, 16}, Mentioned: []uint32{20}, ReadEpoch: 1, Stamp: stampOf(8, 0),
		LastRead: events.Ref{MessageID: []byte("m"), Seq: 11},
	}
	settings := &events.UnreadDelta{
		Unread: 2, Mentions: 2, DirectMentions: 1, FirstMention: events.Ref{MessageID: []byte("m3"), Seq: 3}, ReadEpoch: 1, Stamp: stampOf(1, 0),
		Muted: true, Level: events.LevelNone, Until: t0, LevelAfter: events.LevelMentions, IgnoreAll: true, Flagged: true,
		Filed: events.Filed{Is: true, Keep: true, Pos: 9}, Line: events.Ref{Seq: 2}, Labels: [][]byte{[]byte("a"), []byte("b")}, Ask: true,
	}
	const wantSettings = `,"read_epoch":1,"direct_mentions":1,"first_mention":{"message_id":"m3","seq":3},"level":"NONE",` +
		`"until":"2026-01-02T03:04:05.678Z","level_after":"MENTIONS","ignore_mention_all":true,"flagged":true,"filed":{"keep":true,"pos":9},` +
		`"line":{"message_id":"","seq":2},"labels":["a","b"],"ask":true,"stamp":"1.1.0.0"}`
	if got := string(AppendValue(nil, settings)); !strings.HasSuffix(got, wantSettings) {
		t.Errorf("all that may be said:\n got %s\nwant %s at the end", got, wantSettings)
	}
	const wantLarge = `{"mentions":2,"offline_unread":0,"last_read_seq":11,"read_pos":10,"excluded":"12,14-16","mentioned":"20",` +
		`"large":true,"muted":false,"read_epoch":1,"stamp":"1.8.0.0"}`
	if got := string(AppendValue(nil, large)); got != wantLarge {
		t.Errorf("large channel:\n got %s\nwant %s", got, wantLarge)
	}
}

// anyID draws ids, including ids that JSON has to escape.
func anyID() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return rapid.OneOf(
			rapid.StringMatching(`[a-z0-9:-]{1,12}`),
			rapid.SampledFrom([]string{`"`, `\`, `a"b\c`, `{x}`, "é", "\u2028", "<&>", "日本", `"stamp":"9.9.9.9"}`, "🙂"}),
		).Draw(t, "id")
	})
}

func anyPositions() *rapid.Generator[[]uint32] {
	return rapid.Custom(func(t *rapid.T) []uint32 {
		var list []uint32
		at := uint32(0)
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			at += rapid.Uint32Range(1, 3).Draw(t, "gap")
			list = append(list, at)
		}
		return list
	})
}

// anyDelta draws a delta as the fold makes it.
func anyDelta() *rapid.Generator[*events.UnreadDelta] {
	return rapid.Custom(func(t *rapid.T) *events.UnreadDelta {
		n := rapid.Uint32Range(0, 1<<32-1)
		d := &events.UnreadDelta{
			UserID: []byte(anyID().Draw(t, "user")), ChannelID: []byte(anyID().Draw(t, "channel")),
			Member: rapid.Bool().Draw(t, "member"), Large: rapid.Bool().Draw(t, "large"), Muted: rapid.Bool().Draw(t, "muted"),
			OfflineUnread: n.Draw(t, "offline"), ReadEpoch: n.Draw(t, "epoch"),
			Stamp: events.Stamp{
				FoldVersion: n.Draw(t, "fold"), M: rapid.Int64Range(0, 1<<53).Draw(t, "m"),
				R: rapid.Int64Range(0, 1<<53).Draw(t, "r"), D: rapid.Int64Range(0, 1<<53).Draw(t, "d"),
			},
		}
		if rapid.Bool().Draw(t, "has read") {
			d.LastRead = events.Ref{MessageID: []byte(anyID().Draw(t, "read")), Seq: rapid.Uint32Range(1, 1<<32-1).Draw(t, "seq")}
			d.LastReadAt = rapid.Int64Range(0, 253402300799999).Draw(t, "at")
		}
		if rapid.Bool().Draw(t, "says more") {
			drawSettings(t, d)
		}
		if d.Large {
			d.ReadPos, d.Excluded, d.Mentioned = n.Draw(t, "read pos"), anyPositions().Draw(t, "excluded"), anyPositions().Draw(t, "mentioned")
			return d
		}
		d.Unread, d.Mentions = n.Draw(t, "unread"), n.Draw(t, "mentions")
		if rapid.Bool().Draw(t, "is a thread") {
			d.ThreadID, d.TouchedAt = []byte(anyID().Draw(t, "thread")), rapid.Int64Range(0, 253402300799999).Draw(t, "touched at")
		}
		if rapid.Bool().Draw(t, "has latest") {
			d.FirstUnread = events.Ref{MessageID: []byte(anyID().Draw(t, "first")), Seq: 1}
			d.Latest = events.Head{Seq: rapid.Uint32Range(1, 1<<32-1).Draw(t, "latest"), At: rapid.Int64Range(0, 253402300799999).Draw(t, "latest at")}
		}
		return d
	})
}

func drawSettings(t *rapid.T, d *events.UnreadDelta) {
	ref := func(name string) (r events.Ref) {
		if rapid.Bool().Draw(t, name) {
			r.MessageID = []byte(anyID().Draw(t, name))
		}
		r.Seq = rapid.Uint32Range(0, 3).Draw(t, name)
		return r
	}
	level := rapid.Uint8Range(0, uint8(events.NumLevels)-1)
	d.DirectMentions, d.FirstMention = rapid.Uint32Range(0, 3).Draw(t, "direct"), ref("first mention")
	d.Level = events.Level(level.Draw(t, "level"))
	if rapid.Bool().Draw(t, "until") {
		d.Until, d.LevelAfter = rapid.Int64Range(1, 253402300799999).Draw(t, "until"), events.Level(level.Draw(t, "level after"))
	}
	d.IgnoreAll, d.Flagged, d.Ask = rapid.Bool().Draw(t, "ignores"), rapid.Bool().Draw(t, "flagged"), rapid.Bool().Draw(t, "ask")
	if d.Filed.Is = rapid.Bool().Draw(t, "filed"); d.Filed.Is {
		d.Filed.Keep, d.Filed.Pos = rapid.Bool().Draw(t, "keep"), rapid.Uint32().Draw(t, "pos")
	}
	d.Line = ref("line")
	for _, label := range rapid.SliceOfN(anyID(), 0, 3).Draw(t, "labels") {
		d.Labels = append(d.Labels, []byte(label))
	}
}

// jsonSettings returns the fields of appendSaid.
type jsonSettings struct {
	DirectMentions uint32   `json:"direct_mentions,omitempty"`
	FirstMention   *jsonRef `json:"first_mention,omitempty"`
	Level          string   `json:"level,omitempty"`
	Until          string   `json:"until,omitempty"`
	LevelAfter     string   `json:"level_after,omitempty"`
	IgnoreAll      bool     `json:"ignore_mention_all,omitempty"`
	Flagged        bool     `json:"flagged,omitempty"`
	Filed          *struct {
		Keep bool   `json:"keep"`
		Pos  uint32 `json:"pos"`
	} `json:"filed,omitempty"`
	Line   *jsonRef `json:"line,omitempty"`
	Labels []string `json:"labels,omitempty"`
	Ask    bool     `json:"ask,omitempty"`
}

type jsonRef struct {
	MessageID string `json:"message_id"`
	Seq       uint32 `json:"seq"`
}

func jsonSettingsOf(d *events.UnreadDelta) jsonSettings {
	ref := func(r events.Ref) *jsonRef {
		if len(r.MessageID) == 0 && r.Seq == 0 {
			return nil
		}
		return &jsonRef{string(r.MessageID), r.Seq}
	}
	names := map[events.Level]string{events.LevelMentions: "MENTIONS", events.LevelNone: "NONE"}
	s := jsonSettings{
		DirectMentions: d.DirectMentions, FirstMention: ref(d.FirstMention), Level: names[d.ChosenLevel()],
		IgnoreAll: d.IgnoreAll, Flagged: d.Flagged, Line: ref(d.Line), Ask: d.Ask,
	}
	if d.Until > 0 {
		s.Until, s.LevelAfter = time.UnixMilli(d.Until).UTC().Format("2006-01-02T15:04:05.000Z"), "ALL"
		if d.LevelAfter != events.LevelAll {
			s.LevelAfter = names[d.LevelAfter]
		}
	}
	if d.Filed.Is {
		s.Filed = &struct {
			Keep bool   `json:"keep"`
			Pos  uint32 `json:"pos"`
		}{d.Filed.Keep, d.Filed.Pos}
	}
	for _, label := range d.Labels {
		s.Labels = append(s.Labels, string(label))
	}
	return s
}

// The JSON equals that of encoding/json for the same keys in the same order.
func TestValueAgainstEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDelta().Draw(t, "delta")
		at := ""
		if d.Latest.Seq > 0 {
			at = time.UnixMilli(d.Latest.At).UTC().Format("2006-01-02T15:04:05.000Z")
		}
		var touched *string
		if len(d.ThreadID) > 0 {
			touched = new(string)
			if d.TouchedAt > 0 {
				*touched = time.UnixMilli(d.TouchedAt).UTC().Format("2006-01-02T15:04:05.000Z")
			}
		}
		var v any = struct {
			Unread        uint32 `json:"unread"`
			Mentions      uint32 `json:"mentions"`
			OfflineUnread uint32 `json:"offline_unread"`
			FirstUnreadID string `json:"first_unread_id"`
			LastReadSeq   uint32 `json:"last_read_seq"`
			ReadPos       uint32 `json:"read_pos"`
			Excluded      string `json:"excluded"`
			Mentioned     string `json:"mentioned"`
			LatestSeq     uint32 `json:"latest_seq"`
			LatestAt      string `json:"latest_at"`
			Large         bool   `json:"large"`
			Muted         bool   `json:"muted"`
			ReadEpoch     uint32 `json:"read_epoch"`
			jsonSettings
			TouchedAt *string `json:"touched_at,omitempty"`
			Stamp     string  `json:"stamp"`
		}{
			d.Unread, d.Mentions, d.OfflineUnread, string(d.FirstUnread.MessageID), d.LastRead.Seq, d.ReadPos, "", "",
			d.Latest.Seq, at, d.Large, d.Muted, d.ReadEpoch, jsonSettingsOf(d), touched, d.Stamp.String(),
		}
		if d.Large {
			v = struct {
				Mentions      uint32 `json:"mentions"`
				OfflineUnread uint32 `json:"offline_unread"`
				LastReadSeq   uint32 `json:"last_read_seq"`
				ReadPos       uint32 `json:"read_pos"`
				Excluded      string `json:"excluded"`
				Mentioned     string `json:"mentioned"`
				Large         bool   `json:"large"`
				Muted         bool   `json:"muted"`
				ReadEpoch     uint32 `json:"read_epoch"`
				jsonSettings
				Stamp string `json:"stamp"`
			}{
				d.Mentions, d.OfflineUnread, d.LastRead.Seq, d.ReadPos, string(events.AppendPositions(nil, d.Excluded)),
				string(events.AppendPositions(nil, d.Mentioned)), d.Large, d.Muted, d.ReadEpoch, jsonSettingsOf(d), d.Stamp.String(),
			}
		}
		want := asJSON(t, v)
		if got := string(AppendValue(nil, d)); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

// asJSON encodes without the escapes that only HTML and JavaScript need.
func asJSON(t rapid.TB, v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSuffix(b.String(), "\n"))
}
