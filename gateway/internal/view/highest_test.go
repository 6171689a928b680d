package view

import (
	"sync"
	"testing"
)

func TestHighest(t *testing.T) {
	var h Highest
	if h.Load() != 0 {
		t.Errorf("%d before anything was noted", h.Load())
	}
	var all sync.WaitGroup
	for from := range int64(8) {
		all.Go(func() {
			for n := from; n < 4000; n += 8 {
				h.Note(n)
			}
		})
	}
	all.Wait()
	if h.Note(7); h.Load() != 3999 {
		t.Errorf("the highest is %d, want 3999", h.Load())
	}
}
