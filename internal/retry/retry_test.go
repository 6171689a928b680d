package retry

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Backoff{Min: time.Second, Max: 5 * time.Second}
		var waited []time.Duration
		wait := func(times int) {
			for range times {
				begun := time.Now()
				if !b.Wait(t.Context()) {
					t.Fatal("the wait was cut off")
				}
				waited = append(waited, time.Since(begun)/time.Second)
			}
		}
		wait(5)
		b.Reset()
		wait(2)
		if want := []time.Duration{1, 2, 4, 5, 5, 1, 2}; !slices.Equal(waited, want) {
			t.Errorf("waited for %d seconds, want %d", waited, want)
		}
	})
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if Sleep(ctx, time.Hour) || time.Since(begun) != time.Second {
			t.Errorf("slept for %s", time.Since(begun))
		}
	})
}
