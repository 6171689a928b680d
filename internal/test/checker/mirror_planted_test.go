package checker

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// town has a small channel and a large channel of bob's, with many settings in each.
const town = `
ann, bob join #small
ann, bob, cat, dan join #large
ann, bob join #filed
ann, bob, cat, dan join #kept
ann posts f1 #filed
bob files head seq 1 #filed
ann posts k1, k2 #kept
bob files for good #kept
update the channel labels work #small
update the channel labels work, team archived #large
ann posts s1, s2 #small
ann posts s3 @bob #small
ann posts l1, l2 #large
ann posts l3 @bob #large
ann posts l4 @all #large
bob reads up to s1 #small
bob reads up to l1 #large
bob follows s1 #small
ann posts r1 in thread s1 @bob #small
bob wants nothing until 1:00:00 ignoring @all #small
bob wants mentions #large
bob flags #large
bob draws the line under s2 #small
bob labels mine #small
`

// The check finds a record with another value in any field of DESIGN §4.7 by what a reader derives
// from it, and words the difference as in testdata/derived.txt.
func TestPlantedFieldsAreFoundByTheMirror(t *testing.T) {
	s := projections.DefaultSettings()
	s.FanoutLimit = 3
	p, m := openedWith(t, s), model.New(s)
	var parser script.Parser
	for line := range strings.Lines(strings.TrimSpace(town)) {
		records, err := parser.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			records[i].Fold(p)
			records[i].AddTo(m)
		}
	}
	var out projections.Deltas
	p.Drain(&out, true)

	type delta = events.UnreadDelta
	type channel = events.ChannelRecord
	var got strings.Builder
	for _, c := range []struct {
		what string
		of   string // channel
		lie  any    // what to change about bob there, about the channel, or nil
	}{
		{"nothing", "small", nil},
		{"level", "small", func(d *delta) { d.Level = events.LevelMentions }},
		{"until", "small", func(d *delta) { d.Until++ }},
		{"level_after", "small", func(d *delta) { d.LevelAfter = events.LevelNone }},
		{"ignore_mention_all", "small", func(d *delta) { d.IgnoreAll = false }},
		{"direct_mentions", "small", func(d *delta) { d.DirectMentions++ }},
		{"first_mention", "small", func(d *delta) { d.FirstMention = d.FirstUnread }},
		{"flagged", "large", func(d *delta) { d.Flagged = false }},
		{"filed", "filed", func(d *delta) { d.Filed = events.Filed{} }},
		{"filed.pos", "filed", func(d *delta) { d.Filed.Pos-- }},
		{"filed.keep", "kept", func(d *delta) { d.Filed.Keep = false }},
		{"line", "small", func(d *delta) { d.Line = events.Ref{Seq: 2} }},
		{"labels of one's own", "small", func(d *delta) { d.Labels = nil }},
		{"ask", "large", func(d *delta) { d.Ask = true }},
		{"read_pos", "large", func(d *delta) { d.ReadPos++ }},
		{"excluded", "large", func(d *delta) { d.Excluded = []uint32{3} }},
		{"mentioned", "large", func(d *delta) { d.Mentioned = nil }},
		{"labels of the channel", "large", func(c *channel) { c.Labels = c.Labels[:1] }},
		{"archived", "large", func(c *channel) { c.Archived = false }},
		{"head", "large", func(c *channel) { c.HeadPos++ }},
		{"alls", "large", func(c *channel) { c.Alls = nil }},
	} {
		var reader Mirror
		for _, r := range out.Records {
			value := slices.Clone(r.Value)
			switch lie := c.lie.(type) {
			case func(*delta):
				if r.Topic == projections.OutUnread && string(r.UserID) == "bob" && string(r.ChannelID) == c.of {
					value = liedDelta(t, value, lie)
				}
			case func(*channel):
				if r.Topic == projections.OutChannels && string(r.ChannelID) == c.of {
					value = liedChannel(t, value, lie)
				}
			}
			var err error
			switch r.Topic {
			case projections.OutUnread:
				err = reader.Apply(value)
			case projections.OutChannels:
				err = reader.ApplyChannel(value)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		f := reader.CheckAnswers([]*model.Model{m}, m.Users(), script.Start)
		if (f.Count > 0) != (c.lie != nil) {
			t.Errorf("%s: %s", c.what, f)
		}
		fmt.Fprintf(&got, "## %s\n%s\n\n", c.what, f)
	}
	const golden = "testdata/derived.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the findings differ from %s (-update writes it):\n%s", golden, got.String())
	}
}

// liedDelta returns a delta with a changed value about the channel's own scope. It leaves the delta
// of a thread unchanged.
func liedDelta(t *testing.T, value []byte, lie func(*events.UnreadDelta)) []byte {
	t.Helper()
	var d events.UnreadDelta
	if err := events.DecodeUnreadDelta(value, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.ThreadID) > 0 {
		return value
	}
	lie(&d)
	return events.AppendUnreadDelta(nil, &d)
}

func liedChannel(t *testing.T, value []byte, lie func(*events.ChannelRecord)) []byte {
	t.Helper()
	var c events.ChannelRecord
	if err := events.DecodeChannelRecord(value, &c); err != nil {
		t.Fatal(err)
	}
	lie(&c)
	return events.AppendChannelRecord(nil, &c)
}
