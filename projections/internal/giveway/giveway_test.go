package giveway

import (
	"runtime"
	"testing"
	"time"
)

// TestOnlyForQueries: nobody gives way unless there is a query.
func TestOnlyForQueries(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the other goroutine runs only if this one gives way
	others := func(giveWay func()) (ran int) {
		for range 50 {
			done := make(chan bool, 1)
			go func() { done <- true }()
			giveWay()
			select {
			case <-done:
				ran++
			default:
				<-done
			}
		}
		return ran
	}
	for name, giveWay := range map[string]func(){"Yield": Yield, "Pause": Pause} {
		// Go may take the core away at any time, so a few of 50 do not matter.
		if n := others(giveWay); n > 10 || Wanted() {
			t.Errorf("%s: %d of 50 goroutines ran, although there is no query", name, n)
		}
		Begin()
		if n := others(giveWay); n < 40 || !Wanted() {
			t.Errorf("%s: %d of 50 goroutines ran beside a query", name, n)
		}
		End()
	}
	Begin()
	defer End()
	began := time.Now()
	if Pause(); time.Since(began) < 20*time.Microsecond {
		t.Errorf("a pause of %v", time.Since(began))
	}
}
