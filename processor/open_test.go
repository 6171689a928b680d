package processor

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

func TestPlanOpening(t *testing.T) {
	type pos = projections.Position
	never := pos{none, none, none}
	for _, c := range []struct {
		name   string
		stored pos
		h      history
		want   opening
		err    string
	}{
		{
			name: "first start on empty topics", h: history{committed: never},
		},
		{
			name: "first start on topics with records: they are published", h: history{end: pos{9, 9, 9}, committed: never},
		},
		{
			name: "first start where the log does not begin at 0", h: history{start: pos{5, 0, 2}, end: pos{9, 9, 9}, committed: never},
			want: opening{from: pos{5, 0, 2}, until: pos{5, 0, 2}, begun: true},
		},
		{
			name: "restart where it stopped", stored: pos{7, 8, 9},
			h:    history{end: pos{9, 9, 9}, committed: pos{7, 8, 9}},
			want: opening{from: pos{7, 8, 9}, until: pos{7, 8, 9}},
		},
		{
			name: "offset 0 is a position: one record folded, one committed", stored: pos{1, 0, 0},
			h:    history{end: pos{1, 0, 0}, committed: pos{1, 0, 0}},
			want: opening{from: pos{1, 0, 0}, until: pos{1, 0, 0}},
		},
		{
			name: "after a kill: what was committed is folded in silence", stored: pos{3, 4, 5},
			h:    history{end: pos{9, 9, 9}, committed: pos{7, 8, 5}},
			want: opening{from: pos{3, 4, 5}, until: pos{7, 8, 5}, published: true},
		},
		{
			name: "the store is lost, the log is whole",
			h:    history{end: pos{9, 9, 9}, committed: pos{7, 8, 0}},
			want: opening{until: pos{7, 8, 0}, published: true},
		},
		{
			name: "commits lag behind the store", stored: pos{7, 8, 9},
			h:    history{end: pos{9, 9, 9}, committed: pos{5, 8, 8}},
			want: opening{from: pos{7, 8, 9}, until: pos{7, 8, 9}},
		},
		{
			name: "two members at once: neither before nor after the commits", stored: pos{7, 3, 0},
			h:    history{end: pos{9, 9, 9}, committed: pos{5, 6, 0}},
			want: opening{from: pos{7, 3, 0}, until: pos{7, 6, 0}},
		},
		{
			name: "commits of some inputs only", h: history{end: pos{9, 9, 9}, committed: pos{4, none, none}},
			want: opening{until: pos{4, 0, 0}, published: true},
		},
		{
			name: "the log begins beyond the store", stored: pos{3, 4, 5},
			h:   history{start: pos{0, 6, 0}, end: pos{9, 9, 9}, committed: pos{3, 4, 5}},
			err: "chat.reads/2: the log begins at offset 6, and the store at 4: records 4 to 5 are gone",
		},
		{
			name: "the store is lost and the log does not reach back", h: history{start: pos{2, 0, 0}, end: pos{9, 9, 9}, committed: pos{7, 0, 0}},
			err: "chat.messages/2: the log begins at offset 2, and the store at 0",
		},
		{
			name: "the log ends before the store", stored: pos{3, 4, 5},
			h:   history{end: pos{9, 9, 4}, committed: pos{3, 4, 4}},
			err: "chat.deliveries/2: the log ends at offset 4, and the store is already at 5",
		},
		{
			name: "the log ends before what was committed", stored: pos{3, 4, 0},
			h:   history{end: pos{9, 5, 9}, committed: pos{3, 6, 0}},
			err: "chat.reads/2: the log ends at offset 5, and the group has committed 6",
		},
		{
			name: "trimmed up to the end, all of it folded", stored: pos{9, 9, 9},
			h:    history{start: pos{9, 9, 9}, end: pos{9, 9, 9}, committed: pos{9, 9, 9}},
			want: opening{from: pos{9, 9, 9}, until: pos{9, 9, 9}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := planOpening(2, &events.InputTopics, c.stored, c.h)
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

func TestOpeningRemaining(t *testing.T) {
	o := opening{from: projections.Position{2, 0, 0}, until: projections.Position{10, 4, 0}}
	if left, total := o.remaining(projections.Position{6, 4, 3}); left != 4 || total != 12 {
		t.Errorf("%d of %d left, want 4 of 12", left, total)
	}
	if o.reached(projections.Position{10, 3, 0}) || !o.reached(projections.Position{10, 4, 0}) {
		t.Error("reached is when every input is")
	}
}
