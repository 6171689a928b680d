package query

import (
	"testing"

	"github.com/tidemark/tidemark/query/queryv1"
)

// TestWhatDoesNotCount: a channel and a thread leave out different messages under the same names.
func TestWhatDoesNotCount(t *testing.T) {
	all := &queryv1.Excluded{Own: 1, Deleted: 2, Silent: 3, Thread: 1, ReadSingly: 5, BeforeJoin: 6}
	for _, c := range []struct {
		of     *queryv1.Excluded
		thread bool
		want   string
	}{
		{nil, false, "none"},
		{nil, true, "none"},
		{all, false, "1 own, 2 deleted, 3 silent, 1 reply in a thread, 5 read singly, 6 from before joining"},
		{all, true, "1 own, 2 deleted, 3 silent, 1 shown in the channel, 5 read singly, 6 from before following"},
		{&queryv1.Excluded{Thread: 2}, false, "2 replies in threads"},
		{&queryv1.Excluded{Thread: 2}, true, "2 shown in the channel"},
	} {
		if got := notCounted(c.of, c.thread); got != c.want {
			t.Errorf("%v, of a thread %t: %q, want %q", c.of, c.thread, got, c.want)
		}
	}
}
