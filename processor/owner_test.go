package processor

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestDirectoryIsAskedAgain: a view is taken for half a second, one that is known to be wrong for a tenth of that.
func TestDirectoryIsAskedAgain(t *testing.T) {
	now, asked := time.UnixMilli(1_700_000_000_000), 0
	d := &directory{
		group: "g", topic: "t", now: func() time.Time { return now },
		describe: func(context.Context) (kadm.DescribedGroup, error) {
			asked++
			return kadm.DescribedGroup{State: "PreparingRebalance"}, nil // the view of before stays
		},
		owners: map[int32]string{0: "http://a:1"},
	}
	for _, step := range []struct {
		pass time.Duration
		not  string
		asks int
	}{
		{time.Hour, "http://b:1", 1},
		{directoryWrong, "http://b:1", 1},
		{0, "http://a:1", 2}, // the one that is said to own it asks who does
		{directoryWrong / 2, "http://a:1", 2},
		{directoryWrong / 2, "http://a:1", 3},
		{directoryAge - 1, "http://b:1", 3},
		{1, "http://b:1", 4},
	} {
		now = now.Add(step.pass)
		url, err := d.owner(t.Context(), 0, step.not)
		if url != "http://a:1" || err != nil || asked != step.asks {
			t.Errorf("after %s and not %s: %q, %v, asked %d times, want %d", step.pass, step.not, url, err, asked, step.asks)
		}
	}
	now = now.Add(directoryWrong)
	if _, err := d.owner(t.Context(), 1, "http://b:1"); err == nil || asked != 5 {
		t.Errorf("a partition without an owner: %v, asked %d times", err, asked)
	}
}
