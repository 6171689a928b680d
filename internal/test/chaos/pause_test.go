package chaos

import (
	"context"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
)

// pauseSession is the session timeout of the nodes of TestPause.
const pauseSession = 3 * time.Second

// standsWithin is how long after the end of an overlap of two owners the last record of every key
// is the store's (docs/guarantees.md, "What stands last").
const standsWithin = 10 * time.Second

// TestPause (R6) repeatedly freezes one or two of three members amid a burst, for half to three
// times their session timeout. The others take over; then the frozen ones wake up and still believe
// that they own their partitions. Ten seconds after no partition has two owners any more the last
// record of every key must match the log, and so must a Redis that is filled from these records
// alone. TIDEMARK_CHAOS_PAUSES is the number of pauses.
func TestPause(t *testing.T) {
	t.Parallel()
	a := newAttack(t, 3, 3, "--session-timeout", pauseSession.String())
	a.until("all replicas are in sync", a.complete)
	rounds := number(t, "TIDEMARK_CHAOS_PAUSES", 2)
	for round := range rounds {
		a.ticksUntil("all have their share", func() bool {
			for _, n := range a.nodes {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				ok, live, _ := n.ready(ctx)
				cancel()
				if !ok || live != partitions/len(a.nodes) {
					return false
				}
			}
			return true
		})
		frozen := append([]*node(nil), a.nodes...)
		a.r.Shuffle(len(frozen), func(i, j int) { frozen[i], frozen[j] = frozen[j], frozen[i] })
		frozen = frozen[:1+a.r.IntN(2)]
		long := pauseSession/2 + time.Duration(a.r.Int64N(int64(pauseSession*5/2)))
		a.w.Write(2000)
		time.Sleep(time.Duration(a.r.Int64N(int64(10 * tick))))
		for _, n := range frozen {
			n.pause()
		}
		t.Logf("round %d: %d of %d are frozen for %s", round+1, len(frozen), len(a.nodes), long)
		a.w.Write(500)
		if round%max(rounds/8, 3) == 1 {
			a.erase() // the frozen members still have their data
		}
		for begun := time.Now(); time.Since(begun) < long; {
			a.tick()
		}
		for _, n := range frozen {
			n.resume()
		}
		a.ticks(50)
		if round%10 == 9 || round == rounds-1 {
			a.checkStanding()
		}
	}
	a.check()
}

// checkStanding waits until no partition has two owners. standsWithin after that it compares the
// last record of every key with the model. Nothing is written meanwhile. On a slow machine the
// owners may take longer than standsWithin to fold and publish what was written before;
// checkStanding waits for them.
func (a *attack) checkStanding() {
	a.t.Helper()
	if err := a.client.Flush(context.Background()); err != nil {
		a.t.Fatal(err)
	}
	a.until("no partition has two owners", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return a.shared(ctx) == ""
	})
	over, reported := time.Now(), time.Duration(0)
	a.wait("after the overlap", func(ctx context.Context) string {
		if missing := a.unpublished(ctx); missing != "" {
			return missing
		}
		if reported == 0 {
			reported = time.Since(over)
		}
		if time.Since(over) < standsWithin {
			return "a late record may still stand"
		}
		return ""
	})
	a.t.Logf("the owners had published everything %s after the overlap; compared after %s", reported.Round(time.Millisecond), time.Since(over).Round(time.Millisecond))
	a.checkLast(a.truth())
}

// checkLast compares the last record of every key of tidemark.unread and tidemark.channels with the
// model.
func (a *attack) checkLast(tr *checker.Log) {
	a.t.Helper()
	f := &checker.Findings{What: "the last record of each key against the model of the log"}
	unread := a.records(events.TopicUnread)
	checker.NewHistory(unread, f).Newest(tr, f)
	a.report(f)
	f = &checker.Findings{What: "the last record of each channel"}
	left := checker.AfterCompaction(a.records(events.TopicChannels), f)
	a.report(f)
	a.report(left.CheckChannels(tr))
}
