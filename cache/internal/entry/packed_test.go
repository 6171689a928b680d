package entry

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/cache/internal/packed"
	"github.com/tidemark/tidemark/events"
)

// A reader gets the same entry from either form of values.
func TestPackedIsTheSameEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDelta().Draw(t, "delta")
		d.Muted = d.ChosenLevel() == events.LevelNone // as the fold sets it
		value := packed.AppendValue(nil, d)
		got, err := Parse("c", string(value))
		if err != nil {
			t.Fatalf("%x: %v", value, err)
		}
		want, err := Parse("c", string(AppendValue(nil, d)))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%x\n got %+v\nwant %+v", value, got, want)
		}
		if len(value) > 1 {
			cut := value[:rapid.IntRange(1, len(value)-1).Draw(t, "cut")]
			if e, err := Parse("c", string(cut)); err == nil {
				t.Fatalf("%x was read as %+v", cut, e)
			}
		}
	})
}

// A value that this build cannot read is refused with an explanation: a later version, a later
// flag, or trailing bytes.
func TestPackedIsRefused(t *testing.T) {
	value := string(packed.AppendValue(nil, small("u", "c", 7, 3)))
	for bad, want := range map[string]string{
		"\x02" + value[1:]: "version 2", "\x01\xff\xff\xff\x01" + value[2:]: "update the reader", value + "x": "left over", "\x01": "in the middle",
		"": "JSON",
	} {
		if _, err := Parse("chan", bad); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "chan") {
			t.Errorf("%q: got %v, want an error with %q and the channel", bad, err, want)
		}
	}
}

// Decoding gives the same record of a channel.
func TestPackedChannel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint32()
		r := &events.ChannelRecord{
			HeadSeq: n.Draw(t, "seq"), HeadPos: n.Draw(t, "pos"), MemberCount: n.Draw(t, "members"), Stamp: stampOf(rapid.Int64Range(0, 1<<60).Draw(t, "m"), 0),
			HolesFloor: rapid.Uint32Range(0, 9).Draw(t, "floor"), Holes: anyPositions().Draw(t, "holes"),
			AllsFloor: rapid.Uint32Range(0, 9).Draw(t, "alls floor"), Alls: anyPositions().Draw(t, "alls"),
			PurgedPos: rapid.Uint32Range(0, 9).Draw(t, "purged"), Archived: rapid.Bool().Draw(t, "archived"),
		}
		if rapid.Bool().Draw(t, "latest") {
			r.Latest = events.Head{Seq: 1 + n.Draw(t, "latest")/2, At: rapid.Int64Range(-1, 253402300799999).Draw(t, "at"), MessageID: []byte(anyID().Draw(t, "id")),
				SenderID: []byte("6f1c2a34-0000-4abc-8def-00000000ffff"), Preview: []byte(anyID().Draw(t, "preview"))}
		}
		for _, label := range rapid.SliceOfN(anyID(), 0, 3).Draw(t, "labels") {
			r.Labels = append(r.Labels, []byte(label))
		}
		value := packed.AppendChannel(nil, r)
		var got events.ChannelRecord
		if err := packed.DecodeChannel(value, &got); err != nil {
			t.Fatalf("%x: %v", value, err)
		}
		if again := packed.AppendChannel(nil, &got); string(again) != string(value) {
			t.Fatalf("got  %x\nwant %x", again, value)
		}
		c, err := ParsePackedChannel("k", "c", string(value))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(c.Timeline, r.Timeline()) || c.LatestID != string(r.Latest.MessageID) || c.LatestSender != string(r.Latest.SenderID) ||
			c.LatestPreview != string(r.Latest.Preview) || c.HeadSeq != r.HeadSeq || c.MemberCount != r.MemberCount || c.Archived != r.Archived || len(c.Labels) != len(r.Labels) {
			t.Fatalf("got %+v of %+v", c, r)
		}
		if stamp, err := PackedStamp(string(value)); err != nil || stamp != r.Stamp {
			t.Fatalf("stamp %v, %v", stamp, err)
		}
	})
}

// A usual pair has at most 64 bytes, the default of Redis' hash-max-listpack-value. Its ids are
// ULIDs or UUIDs, and its log has been written for years.
func TestPackedIsShort(t *testing.T) {
	for _, id := range []string{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "6f1c2a34-0000-4abc-8def-00000000ffff"} {
		d := small("u", "c", 1_999_999, 3)
		d.FirstUnread.MessageID, d.LastRead.Seq, d.OfflineUnread, d.ReadEpoch = []byte(id), 1_999_000, 999, 120
		d.DirectMentions, d.Flagged = 1, true
		d.Stamp = events.Stamp{FoldVersion: 2, M: 1 << 41, R: 1 << 41, D: 1 << 41}
		d.Latest.Seq = 1_999_999
		if n := len(packed.AppendValue(nil, d)); n > 64 {
			t.Errorf("%d bytes with ids such as %s", n, id)
		}
		d = small("u", "c", 100, 3)
		d.FirstUnread.MessageID = []byte(id)
		d.Stamp = stampOf(50_000_000, 2_000_000)
		t.Logf("%s: %d bytes, as JSON %d", id, len(packed.AppendValue(nil, d)), len(AppendValue(nil, d)))
	}
}
