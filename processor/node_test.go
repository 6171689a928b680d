package processor

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
)

// TestOffsetsThatCannotBeReadShow (B12): while the group's offsets cannot be read the member is not
// ready and gives the reason, and it continues by itself.
func TestOffsetsThatCannotBeReadShow(t *testing.T) {
	k := testkit.FakeKafka(t)
	s := newSite(t, k.ListenAddrs(), 2)
	fault := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.GroupAuthorizationFailed, Count: -1})
	m := s.start(s.config(t.TempDir()))
	until(t, "the reason is shown", func() bool {
		ok, lines := m.Ready()
		return !ok && strings.Contains(strings.Join(lines, "\n"), "GROUP_AUTHORIZATION_FAILED")
	})
	fault.Remove()
	m.ready(2)
}

// TestOffsetsThatNobodyAnswersFor (B12): each request for the group's offsets breaks off. The
// member is not ready for as long as that lasts, also between two sessions of its group, and
// continues by itself.
func TestOffsetsThatNobodyAnswersFor(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		line := proxy.NewLine(t)
		c := s.config(t.TempDir())
		c.ClientOptions = append(c.ClientOptions, kgo.Dialer(line.Dialer(nil)))
		const sessions = 3 // each retries several times before it ends
		line.CutKafka(kmsg.OffsetFetch, proxy.Request, 1<<30)
		m := s.start(c)
		until(t, "sessions end for want of the group's offsets", func() bool {
			if ok, lines := m.Ready(); ok || len(lines) == 0 {
				t.Fatalf("ready: %v, %q", ok, lines)
			}
			return counterValue(t, m.metrics.GroupErrors) >= sessions
		})
		line.Mend()
		m.ready(2)
		m.unread(s.join("general", "alice"), "alice", "general")
	})
}

func TestWatchAndOwner(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 4)
		ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
		ca.Advertise, cb.Advertise = "http://a:1", "http://b:1"
		a := s.start(ca).ready(4)
		own := events.PartitionOf([]byte("general"), 4)
		w, err := a.Watch(own, "bob")
		if err != nil {
			t.Fatal(err)
		}
		s.join("general", "alice", "bob")
		select {
		case <-w.Signal():
		case <-time.After(2 * time.Minute):
			t.Fatal("no signal")
		}
		if got := w.Changed(); len(got) != 1 || got[0] != "general" {
			t.Errorf("changed are %q", got)
		}
		b := s.start(cb).ready(2)
		a.ready(2)
		for p := range int32(4) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			owner, want := a, "http://a:1"
			if _, err := a.Live(p); err != nil {
				owner, want = b, "http://b:1"
			}
			if _, err := owner.Live(p); err != nil {
				t.Errorf("partition %d is live nowhere: %v", p, err)
			}
			for _, asked := range []*member{a, b} {
				var got string
				until(t, "the owner is known", func() bool { got, _ = asked.Owner(ctx, p); return got == want })
				if key := asked.RelayKey(want); key == "" || key != owner.relayKey {
					t.Errorf("partition %d: the key of its owner is known as %q, want %q", p, key, owner.relayKey)
				}
			}
		}
		b.stop()
		a.ready(4)
		a.stop()
		if _, open := <-w.Signal(); open {
			if _, open = <-w.Signal(); open {
				t.Error("the signal of a partition that is gone stays open")
			}
		}
	})
}

// TestNotReadyBeforeItsPartitionsAreKnown: a member that has joined is queried for readiness before
// it has its assignment. Without partitions it would be ready, and the next query would fail
// because they are being opened.
func TestNotReadyBeforeItsPartitionsAreKnown(t *testing.T) {
	m := newMover(t, t.TempDir(), time.Now())
	m.joined = false
	m.mu.RLock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.onAssigned(t.Context(), nil, nil)
	}()
	for m.mu.TryRLock() { // until it waits for whoever reads the partitions
		m.mu.RUnlock()
		runtime.Gosched()
	}
	if m.joined {
		t.Error("it has joined, and its partitions are not known yet")
	}
	m.mu.RUnlock()
	<-done
	if ready, lines := m.Ready(); !ready {
		t.Errorf("with all that it owns, which is nothing: %v", lines)
	}
}

// TestNotReadyOnceItsPartitionsAreLost: a member whose session ended with an error owns nothing,
// and is not ready for that reason. It reports the reason until the next session, and not again
// when the client reports the error once more, late, among its fetches.
func TestNotReadyOnceItsPartitionsAreLost(t *testing.T) {
	m := newMover(t, t.TempDir(), time.Now())
	state := func(when string, want bool, line string) {
		t.Helper()
		if ready, lines := m.Ready(); ready != want || strings.Join(lines, "\n") != line {
			t.Errorf("%s: ready %v, %q", when, ready, lines)
		}
	}
	state("in its group", true, "")
	m.onLost(t.Context(), nil, nil)
	state("after its partitions are lost", false, "joining group g")
	err := errors.New("no broker answers")
	sessionEnds(m.groupFailed).OnGroupManageError(err)
	state("after its session ended", false, "group g: no broker answers")
	m.onAssigned(t.Context(), nil, nil)
	state("in the next session", true, "")
	m.ofNoPartition(&kgo.ErrGroupSession{Err: err})
	state("after a late poll", true, "")
	close(m.stopping)
	state("while it stops", false, "stopping")
}
