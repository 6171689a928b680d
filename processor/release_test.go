package processor

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/projections"
)

// TestReleaseBehindACommitThatHangs: a member that releases partitions waits for the brokers no
// longer than its limit. This holds even while an earlier commit hangs and ignores its context, as
// kgo's commits do while they wait for an earlier one.
func TestReleaseBehindACommitThatHangs(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	cfg := s.config(t.TempDir())
	cfg.StopTimeout = 200 * time.Millisecond
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.asker.Close()
	p.engine.Cluster.Store(&engine.Cluster{Partitions: 1})
	hangs, end := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c := outputs.NewCommitter(outputs.Commits{
		Topics: events.InputTopics, Log: slog.New(slog.DiscardHandler), Took: func(time.Duration) {}, Now: time.Now, Roster: outputs.NewRoster(),
		Commit: func(context.Context, map[string]map[int32]kgo.EpochOffset, map[int32]string) error {
			once.Do(func() { close(hangs) })
			<-end
			return nil
		},
	})
	p.committer = c
	p.publisher = &outputs.Publisher{Roster: c.Roster}
	c.Own(0, projections.Position{})
	c.Note(0, projections.Position{1})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(ctx) })
	defer wg.Wait()
	defer cancel()
	defer close(end)
	<-hangs
	c.Note(0, projections.Position{2})

	w := p.newWorker(0, nil)
	close(w.Opened)
	close(w.Done) // it has nothing left to do
	p.workers[0] = w
	released := make(chan struct{})
	go func() {
		defer close(released)
		p.release([]int32{0}, inbox.StopClean, patience{finish: 100 * time.Millisecond, cut: 100 * time.Millisecond, commit: 100 * time.Millisecond})
	}()
	select {
	case <-released:
	case <-time.After(time.Minute): // its limit is a tenth of a second
		t.Fatal("the release waits for the commit")
	}
}
