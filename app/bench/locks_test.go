package bench

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/traffic"
)

// TestLocksOn runs the bench locks on a small load: every holder of a partition's lock reports its
// cause, and every cause occurs.
func TestLocksOn(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	mixes := []traffic.Mix{traffic.Mixes["S"], traffic.Mixes["C"]}
	for i := range mixes {
		mixes[i].Channels, mixes[i].Users = 100, 200
	}
	want := []string{
		"GetThreads, 150 threads, any page of 50", "GetThreads, 150 threads, any page of 1000",
		"GetReceipts, 500 members who read: the newest message", "GetReceipts, 500 members, beside the cut of a read of each: the newest message",
	}
	for _, mix := range mixes {
		for _, cause := range []string{
			"fold", "drain", "cut", "apply", "GetInbox", "GetThreads", "GetUnread", "GetChannel", "GetReceipts", "GetReaders",
			"ExplainUnread", "ListUserChannels", "WatchUnread", "WatchUnread begins", "stats",
		} {
			want = append(want, "mix "+mix.Name+": "+cause)
		}
	}
	missing := want
	for lasts := time.Second; len(missing) > 0 && lasts <= 16*time.Second; lasts *= 4 { // longer on a busy machine
		out, err := locksOn(ctx, Env{Progress: t.Output()}, busy{
			mixes: mixes, warm: 1_000, rate: 500, lasts: lasts, crowd: 500, messages: 20, wide: 50, followed: 150, calls: 4,
		})
		if err != nil {
			t.Fatal(err)
		}
		missing = slices.DeleteFunc(slices.Clone(want), func(name string) bool {
			return slices.ContainsFunc(out, func(r gauge.Result) bool { return r.Name == name && strings.Contains(r.Note, "ms") })
		})
		if len(missing) == 0 {
			for _, r := range out {
				t.Logf("%+v", r)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("no hold reports the cause %q", missing)
	}
}

// TestHoldsTellWaitingFromWork: a hold that waits has a duration and no CPU time.
func TestHoldsTellWaitingFromWork(t *testing.T) {
	h := &holds{}
	done := h.on("idle")
	time.Sleep(50 * time.Millisecond)
	done()
	h.on("quick")()
	out := h.results("here")
	if len(out) != 2 {
		t.Fatalf("%+v", out)
	}
	for _, r := range out {
		wall, cpu := r.Goals[0].Got, r.Goals[1].Got
		if r.Name == "here: idle" && (wall < 50 || cpu > wall/2) {
			t.Errorf("a hold that sleeps 50 ms: %+v", r)
		}
	}
	if h.reset(); len(h.results("here")) != 0 {
		t.Error("it is not forgotten")
	}
}
