package opening

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/projections"
)

func TestPlanOpening(t *testing.T) {
	type pos = projections.Position
	for _, c := range []struct {
		name   string
		stored pos
		h      History
		want   Plan
		err    string
	}{
		{
			name: "first start on empty topics", h: History{Committed: never},
		},
		{
			name: "first start on topics with records: they are published", h: History{End: pos{9, 9, 9}, Committed: never},
		},
		{
			name: "first start where the log does not begin at 0", h: History{Start: pos{5, 0, 2}, End: pos{9, 9, 9}, Committed: never},
			want: Plan{From: pos{5, 0, 2}, Until: pos{5, 0, 2}, LogTruncated: true},
		},
		{
			name: "an owner wrote its producer id and folded nothing", h: History{End: pos{9, 9, 9}, Committed: pos{0, 0, 0}},
		},
		{
			name: "likewise where a log does not begin at 0", h: History{Start: pos{5, 0, 2}, End: pos{9, 9, 9}, Committed: pos{outputs.None, 0, outputs.None}},
			want: Plan{From: pos{5, 0, 2}, Until: pos{5, 0, 2}, LogTruncated: true},
		},
		{
			name: "and the log lost its beginning after that", h: History{Start: pos{5, 1, 2}, End: pos{9, 9, 9}, Committed: pos{outputs.None, 0, outputs.None}},
			err: "chat.messages/2: the log begins at offset 5, and the store at 0: records 0 to 4 are gone",
		},
		{
			name: "restart where it stopped", stored: pos{7, 8, 9},
			h:    History{End: pos{9, 9, 9}, Committed: pos{7, 8, 9}},
			want: Plan{From: pos{7, 8, 9}, Until: pos{7, 8, 9}},
		},
		{
			name: "offset 0 is a position: one record folded, one committed", stored: pos{1, 0, 0},
			h:    History{End: pos{1, 0, 0}, Committed: pos{1, 0, 0}},
			want: Plan{From: pos{1, 0, 0}, Until: pos{1, 0, 0}},
		},
		{
			name: "after a kill: what was committed is replayed", stored: pos{3, 4, 5},
			h:    History{End: pos{9, 9, 9}, Committed: pos{7, 8, 5}},
			want: Plan{From: pos{3, 4, 5}, Until: pos{7, 8, 5}, Published: true},
		},
		{
			name: "the store is lost, the log is whole",
			h:    History{End: pos{9, 9, 9}, Committed: pos{7, 8, 0}},
			want: Plan{Until: pos{7, 8, 0}, Published: true},
		},
		{
			name: "commits lag behind the store", stored: pos{7, 8, 9},
			h:    History{End: pos{9, 9, 9}, Committed: pos{5, 8, 8}},
			want: Plan{From: pos{7, 8, 9}, Until: pos{7, 8, 9}, Republish: true, RepublishSince: pos{5, 8, 8}},
		},
		{
			name: "the group's offsets are gone, the store is there", stored: pos{7, 8, 9},
			h:    History{End: pos{9, 9, 9}, Committed: never},
			want: Plan{From: pos{7, 8, 9}, Until: pos{7, 8, 9}},
		},
		{
			name: "two members at once: neither before nor after the commits", stored: pos{7, 3, 0},
			h:    History{End: pos{9, 9, 9}, Committed: pos{5, 6, 0}},
			want: Plan{From: pos{7, 3, 0}, Until: pos{7, 6, 0}, Republish: true, RepublishSince: pos{5, 6, 0}},
		},
		{
			name: "commits of some inputs only", h: History{End: pos{9, 9, 9}, Committed: pos{4, outputs.None, outputs.None}},
			want: Plan{Until: pos{4, 0, 0}, Published: true},
		},
		{
			name: "the log begins beyond the store", stored: pos{3, 4, 5},
			h:   History{Start: pos{0, 6, 0}, End: pos{9, 9, 9}, Committed: pos{3, 4, 5}},
			err: "chat.reads/2: the log begins at offset 6, and the store at 4: records 4 to 5 are gone",
		},
		{
			name: "the store is lost and the log does not reach back", h: History{Start: pos{2, 0, 0}, End: pos{9, 9, 9}, Committed: pos{7, 0, 0}},
			err: "chat.messages/2: the log begins at offset 2, and the store at 0",
		},
		{
			name: "the log ends before the store", stored: pos{3, 4, 5},
			h:   History{End: pos{9, 9, 4}, Committed: pos{3, 4, 4}},
			err: "chat.deliveries/2: the log ends at offset 4, and the store is already at 5",
		},
		{
			name: "the log ends before what was committed", stored: pos{3, 4, 0},
			h:   History{End: pos{9, 5, 9}, Committed: pos{3, 6, 0}},
			err: "chat.reads/2: the log ends at offset 5, and the group has committed 6",
		},
		{
			name: "trimmed up to the end, all of it folded", stored: pos{9, 9, 9},
			h:    History{Start: pos{9, 9, 9}, End: pos{9, 9, 9}, Committed: pos{9, 9, 9}},
			want: Plan{From: pos{9, 9, 9}, Until: pos{9, 9, 9}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Decide(2, &events.InputTopics, c.stored, c.h)
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				if !strings.Contains(err.Error(), "; ") {
					t.Errorf("error %q does not say the way out", err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

// TestWritten: a producer id is written beside the committed offsets, or beside offset 0 of each
// complete log if nothing is committed. Only if all three logs have lost their beginnings is there
// no place for it.
func TestWritten(t *testing.T) {
	type pos = projections.Position
	const none = outputs.None
	for _, c := range []struct{ start, committed, want pos }{
		{pos{}, never, pos{}},
		{pos{5, 0, 2}, never, pos{none, 0, none}},
		{pos{5, 1, 2}, never, never},
		{pos{5, 0, 2}, pos{7, 0, 9}, pos{7, 0, 9}},
		{pos{5, 0, 2}, pos{none, 0, none}, pos{none, 0, none}},
	} {
		if got := (&History{Start: c.start, Committed: c.committed}).Written(); got != c.want {
			t.Errorf("logs from %v, committed %v: %v, want %v", c.start, c.committed, got, c.want)
		}
	}
}

func TestOpeningRemaining(t *testing.T) {
	o := Plan{From: projections.Position{2, 0, 0}, Until: projections.Position{10, 4, 0}}
	if left, total := o.Remaining(projections.Position{6, 4, 3}); left != 4 || total != 12 {
		t.Errorf("%d of %d left, want 4 of 12", left, total)
	}
	if o.Reached(projections.Position{10, 3, 0}) || !o.Reached(projections.Position{10, 4, 0}) {
		t.Error("reached is when every input is")
	}
}
