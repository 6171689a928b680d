package partition

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/traffic"
)

// TestFoldRun runs the bench fold on a small mix: it folds the stated number of events and hardly
// allocates.
func TestFoldRun(t *testing.T) {
	for _, mix := range []string{"S", "all"} {
		m := traffic.Mixes["S"]
		if mix == "all" {
			m.Deliveries, m.Threads = 2, 3
		}
		r, allocs, err := foldRun(task{"small", m, fanoutOff(), mix == "all", 20_000, pace{}})
		if err != nil {
			t.Fatal(err)
		}
		if r.CPU <= 0 || r.Rate <= 0 || allocs <= 0 || allocs > 5 || strings.Contains(r.Note, " 0.00 deltas") != (mix == "all") {
			t.Fatalf("%+v, %v allocations", r, allocs)
		}
	}
}

// TestEqualPace: page writes cover the same number of events for any number of channels, and no
// pair is read twice in a batch.
func TestEqualPace(t *testing.T) {
	m := traffic.Mixes["S"]
	for _, channels := range []int{100, 1000} {
		m.Channels = channels
		p := equalPace(m)
		if perChannel := float64(p.cut) / float64(channels); p.drain != batchSize || perChannel < 5 || perChannel > 15 {
			t.Errorf("with %d channels %+v", channels, p)
		}
		a, dec := &apart{g: traffic.New(m)}, events.Decoder{}
		for range 20 {
			seen := map[string]bool{}
			for range batchSize {
				e := a.next()
				var r events.Read
				if e.Input != events.Reads {
					continue
				}
				if err := dec.Read(e.Value, e.Millis, &r); err != nil {
					t.Fatal(err)
				}
				pair := string(r.ChannelID) + " " + string(r.UserID)
				if seen[pair] {
					t.Fatalf("with %d channels %s is read twice in a batch", channels, pair)
				}
				seen[pair] = true
			}
		}
	}
	if _, _, err := foldRun(task{"small", m, fanoutOff(), false, 2_000, equalPace(m)}); err != nil {
		t.Fatal(err)
	}
}
