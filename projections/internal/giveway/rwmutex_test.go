package giveway

import (
	"runtime"
	"testing"
	"time"
)

// TestUnlockLetsQueriesIn: a query that waits for the lock has it before Unlock returns.
func TestUnlockLetsQueriesIn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var l RWMutex
	in := 0
	for range 50 {
		l.Lock()
		locked := make(chan bool, 1)
		go func() {
			l.RLock()
			locked <- true
			l.RUnlock()
		}()
		for !Wanted() { // until it waits
			time.Sleep(time.Microsecond)
		}
		l.Unlock()
		select {
		case <-locked:
			in++
		default:
			<-locked
		}
	}
	if in < 40 || Wanted() {
		t.Errorf("%d of 50 queries had the lock when Unlock returned", in)
	}
}
