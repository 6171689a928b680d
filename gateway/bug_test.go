package gateway

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A frame for several devices that cannot be encoded goes to none of them: each connection ends.
// sync.Once counts a function that panics as done, so the second device must not get an empty
// frame.
func TestABugInAFrameIsEveryDevices(t *testing.T) {
	f := frames.Lazy(10, func() []byte { panic("planted") })
	for device := range 3 {
		err := guard.Do("the writing", func() { f.Bytes() })
		if e := guard.Of(err); e == nil || e.Value != "planted" {
			t.Errorf("device %d: %v", device, err)
		}
	}
}

// An owner is called once more after a panic in the call. Otherwise the counts would stay outdated
// forever, because a call in progress prevents further ones.
func TestABugInTheAskingIsAskedAgain(t *testing.T) {
	g := bare()
	var log testkit.Output
	g.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	u := g.someone("ann")
	g.device(t, u)
	large := &events.UnreadDelta{ChannelID: []byte("general"), Member: true, Large: true, Stamp: events.Stamp{FoldVersion: 1, M: 10}}
	g.applyDelta(u, large)
	if n := len(g.asks); n != 1 {
		t.Fatalf("%d questions wait, want 1: no record says what is unread", n)
	}
	asked := make(chan struct{}, 2)
	ctx, cancel := context.WithCancel(t.Context())
	g.cfg.planted = func(where string) {
		if where == "ask" {
			asked <- struct{}{}
			panic("planted")
		}
	}
	done := make(chan struct{})
	go func() { defer close(done); g.answerAsks(ctx) }()
	for range 2 {
		select {
		case <-asked:
		case <-time.After(10 * askPause):
			t.Fatal("nobody was asked")
		}
	}
	cancel()
	<-done
	if !strings.Contains(log.String(), "planted") {
		t.Errorf("the log does not have it: %s", &log)
	}
}
