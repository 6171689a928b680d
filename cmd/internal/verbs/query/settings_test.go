package query

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1"
)

// What is said of a channel has a line each, and what says nothing has none.
func TestWhatIsSaidOfAChannel(t *testing.T) {
	until := timestamppb.New(time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC))
	clock := term.Clock(until.AsTime())
	for _, c := range []struct {
		name  string
		of    *queryv1.ChannelUnread
		lines []string
		marks string
	}{
		{"nothing", &queryv1.ChannelUnread{Unread: 3, Mentions: 1}, nil, ""},
		{"muted by a node that tells no level", &queryv1.ChannelUnread{Muted: true}, []string{"muted  yes"}, " (muted)"},
		{"mentions", &queryv1.ChannelUnread{Level: eventsv1.NotifySet_MENTIONS, IgnoreMentionAll: true, DirectMentions: 2, FirstMention: &queryv1.MessageRef{MessageId: "m3", Seq: 3}},
			[]string{"by name        2", "first mention  m3 (seq 3)", "@all           ignored", "level          mentions only"}, " (mentions only)"},
		{"muted for a while", &queryv1.ChannelUnread{Level: eventsv1.NotifySet_NONE, Muted: true, Until: until, LevelAfter: eventsv1.NotifySet_MENTIONS},
			[]string{"level  none (muted) until " + clock + ", then mentions only"}, " (muted until " + clock + ")"},
		{"loud for a while", &queryv1.ChannelUnread{Until: until, LevelAfter: eventsv1.NotifySet_NONE},
			[]string{"level  all until " + clock + ", then none (muted)"}, " (all until " + clock + ")"},
		{"filed", &queryv1.ChannelUnread{Filed: &queryv1.Filed{}, Archived: true, Flagged: true, Line: &queryv1.MessageRef{Seq: 4}, Labels: []string{"home", "a\x1bb"}},
			[]string{"flagged   yes", "archived  by the user, until there is news", "line      seq 4", "labels    home, a"}, " (flagged, archived)"},
		{"kept", &queryv1.ChannelUnread{Filed: &queryv1.Filed{Keep: true}, Archived: true}, []string{"archived  by the user, for good"}, " (archived)"},
		{"for all", &queryv1.ChannelUnread{Archived: true}, []string{"archived  for everybody"}, " (archived)"},
	} {
		var b bytes.Buffer
		f := term.NewFields(&b)
		addSettings(f, c.of)
		if err := f.Print(); err != nil {
			t.Fatal(err)
		}
		if strings.Count(b.String(), "\n") != len(c.lines) {
			t.Errorf("%s: %q, want %d lines", c.name, b.String(), len(c.lines))
		}
		for _, line := range c.lines {
			if !strings.Contains(b.String(), line) {
				t.Errorf("%s: %q is not in\n%s", c.name, line, b.String())
			}
		}
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s: %q moves the cursor", c.name, b.String())
		}
		if got := marks(c.of); got != c.marks {
			t.Errorf("%s: behind its name %q, want %q", c.name, got, c.marks)
		}
	}
}

func TestTheBadgeInTheTotals(t *testing.T) {
	if got := badgeLine(&queryv1.Totals{Unread: 14}); got != "" {
		t.Errorf("of a node that tells no badge: %q", got)
	}
	for want, of := range map[string]*queryv1.Totals{
		"":                     {Unread: 3, ThreadUnread: 2, Badge: 5},
		"; badge 1":            {Unread: 3, Badge: 1, Archived: &queryv1.ArchivedTotals{}},
		"; badge 4; 1 flagged": {Unread: 3, Badge: 4, Flagged: 1, Archived: &queryv1.ArchivedTotals{}},
		"; archived: 1 channel unread, 2 mentions": {Archived: &queryv1.ArchivedTotals{UnreadChannels: 1, Mentions: 2}},
	} {
		if got := badgeLine(of); got != want {
			t.Errorf("%v: %q, want %q", of, got, want)
		}
	}
}

// Each label has a line, in their order, without control characters.
func TestTotalsOfLabels(t *testing.T) {
	var b bytes.Buffer
	printByLabel(&b, map[string]*queryv1.Totals{
		"work":   {Unread: 3, UnreadChannels: 1, Mentions: 2, Badge: 4, Flagged: 1},
		"a\x1bb": {Archived: &queryv1.ArchivedTotals{UnreadChannels: 2}},
	})
	want := "label a" + term.Printable("\x1b") + "b: badge 0, 0 unread in 0 channels, 0 mentions; archived: 2 channels unread, 0 mentions\n" +
		"label work: badge 4, 3 unread in 1 channel, 2 mentions; 1 flagged\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
