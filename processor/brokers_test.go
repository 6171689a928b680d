package processor

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// losses is a log handler that counts how often a member lost partitions before it had finished them.
// What they published last may then be from beyond the position at which they are opened again. If
// the test fails, it shows the lines about partitions.
type losses struct {
	mu    sync.Mutex
	n     int
	lines []string
}

func noteLosses(t *testing.T) *losses {
	l := &losses{}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.Failed() {
			t.Log(strings.Join(l.lines, "\n"))
		}
	})
	return l
}

func (l *losses) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

func (l *losses) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Message == "partitions lost" {
		l.n++
	}
	if strings.HasPrefix(r.Message, "partition") || r.Level >= slog.LevelWarn && !strings.HasPrefix(r.Message, "kafka client: unable to open") {
		line := r.Time.Format(time.StampMilli) + " " + r.Message
		r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
		l.lines = append(l.lines, line)
	}
	return nil
}

func (l *losses) Enabled(context.Context, slog.Level) bool { return true }
func (l *losses) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *losses) WithGroup(string) slog.Handler            { return l }

// TestBrokersComeAndGo: under traffic the leaders of inputs and outputs move, and one of three
// brokers is killed and comes back. Nothing is lost, no key has two records with the same stamp and
// different bytes, and no partition stops.
func TestBrokersComeAndGo(t *testing.T) {
	k := testkit.KafkaN(t, 3)
	s := newReplicatedSite(t, k.Brokers, 2, 3)
	tr := newTraffic(s, rand.Uint64(), 20)
	dir := t.TempDir()
	c := s.config(dir)
	lost := noteLosses(t)
	c.Logger = slog.New(lost)
	m := s.start(c).ready(2)
	tr.run(1000)
	for _, topic := range []string{s.names().Inputs[0], s.names().Unread} {
		k.MoveLeader(topic, 0, k.Leader(topic, 0)%3+1)
		tr.run(1000)
	}
	victim := k.Leader(s.names().Unread, 1)
	k.Kill(victim)
	tr.run(1000)
	k.Start(victim)
	tr.run(1000)
	s.caughtUp(m)
	m.stop()
	owners := 1
	if n := lost.count(); n > 0 { // its session ended, on a slow machine
		t.Logf("the member lost its partitions %d times", n)
		owners = 2
	}
	got, published := s.digests(s.config(dir), dir), s.outputsOf(owners)
	want, replayed := s.replay()
	for p := range want {
		if got[p] != want[p] {
			t.Errorf("partition %d has digest %x, a replay %x", p, got[p], want[p])
		}
	}
	sameNewest(t, "published", published, replayed)
}
