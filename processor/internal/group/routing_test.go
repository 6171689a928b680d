package group

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestDirectoryIsAskedAgain: a view is valid for half a second, and one that is known to be wrong
// for a tenth of that.
func TestDirectoryIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		d := &Directory{
			group: "g", topic: "t", now: time.Now,
			Describe: func(context.Context) (kadm.DescribedGroup, error) {
				asked++
				return kadm.DescribedGroup{State: "PreparingRebalance"}, nil // the earlier view stays valid
			},
			Owners: map[int32]string{0: "http://a:1"},
		}
		for _, step := range []struct {
			pass time.Duration
			not  string
			asks int
		}{
			{time.Hour, "http://b:1", 1},
			{directoryWrong, "http://b:1", 1},
			{0, "http://a:1", 2}, // the supposed owner looks up the owner itself
			{directoryWrong / 2, "http://a:1", 2},
			{directoryWrong / 2, "http://a:1", 3},
			{directoryAge - 1, "http://b:1", 3},
			{1, "http://b:1", 4},
		} {
			time.Sleep(step.pass)
			url, err := d.Owner(t.Context(), 0, step.not)
			synctest.Wait()
			if url != "http://a:1" || err != nil || asked != step.asks {
				t.Errorf("after %s and not %s: %q, %v, asked %d times, want %d", step.pass, step.not, url, err, asked, step.asks)
			}
		}
		time.Sleep(directoryWrong)
		if _, err := d.Owner(t.Context(), 1, "http://b:1"); err == nil || asked != 5 {
			t.Errorf("a partition without an owner: %v, asked %d times", err, asked)
		}
	})
}

// TestDirectoryWaitsForNoBroker: while the brokers do not answer, Owner returns a known owner at
// once, or after a short wait if the view is old. A caller that rejects the known owner waits as
// long as its context allows.
func TestDirectoryWaitsForNoBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Directory{
			group: "g", topic: "t", now: time.Now,
			Describe: func(ctx context.Context) (kadm.DescribedGroup, error) {
				<-ctx.Done()
				return kadm.DescribedGroup{}, ctx.Err()
			},
			Owners: map[int32]string{0: "http://a:1"}, seen: time.Now(),
		}
		for _, step := range []struct {
			pass  time.Duration // time since the view
			not   string
			waits time.Duration
			err   error
		}{
			{directoryAge, "http://b:1", 0, nil},
			{directoryStale - 1, "http://b:1", 0, nil},
			{directoryStale, "http://b:1", directoryWait, nil},
			{time.Hour, "http://b:1", directoryWait, nil},
			{0, "http://a:1", 2 * time.Second, context.DeadlineExceeded},
		} {
			time.Sleep(time.Until(d.seen.Add(step.pass)))
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			url, err := d.Owner(ctx, 0, step.not)
			cancel()
			if waited := time.Since(began); !errors.Is(err, step.err) || err == nil && url != "http://a:1" || waited != step.waits {
				t.Errorf("after %s and not %s: %q, %v after %s, want %v after %s", step.pass, step.not, url, err, waited, step.err, step.waits)
			}
		}
		time.Sleep(directoryTimeout) // until the last request has ended
	})
}
