package guard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
)

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var panicked *guard.Error
		note := func(err *guard.Error) { panicked = err }
		began := time.Now()
		if !guard.Within(time.Minute, "quick", note, func() { time.Sleep(time.Second) }) || time.Since(began) != time.Second {
			t.Errorf("what takes a second was waited for %s", time.Since(began))
		}
		free := make(chan struct{})
		began = time.Now()
		if guard.Within(time.Minute, "hangs", note, func() { <-free }) || time.Since(began) != time.Minute {
			t.Errorf("what hangs was waited for %s", time.Since(began))
		}
		close(free)
		if !guard.Within(time.Minute, "panics", note, func() { panic("planted") }) {
			t.Error("what panicked was waited for")
		}
		synctest.Wait()
		if panicked == nil || panicked.Where != "panics" {
			t.Errorf("the panic was heard as %v", panicked)
		}
	})
}
