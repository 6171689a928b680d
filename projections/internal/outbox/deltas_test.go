package outbox

import (
	"bytes"
	"testing"
)

// TestKeepMovesNothing: kept data stays unchanged, however much is kept after it, until Reset.
// After Reset the memory is reused.
func TestKeepMovesNothing(t *testing.T) {
	var d Deltas
	kept := func(round int) (list [][]byte) {
		for i := range 2000 {
			b := bytes.Repeat([]byte{byte(i + round)}, 1+i*7%1500)
			if i == 1000 {
				b = bytes.Repeat([]byte{byte(i + round)}, 2*deltaChunk)
			}
			list = append(list, d.Keep(b))
			clear(b)
		}
		return list
	}
	for round := range 3 {
		for i, b := range kept(round) {
			if cap(b) != len(b) || len(bytes.Trim(b, string([]byte{byte(i + round)}))) > 0 {
				t.Fatalf("round %d: what was kept as number %d has changed", round, i)
			}
		}
		d.Reset()
	}
	if allocs := testing.AllocsPerRun(10, func() { d.Reset(); d.Keep(make([]byte, 0, 8)) }); allocs > 1 {
		t.Errorf("%v allocations with memory from before", allocs)
	}
}
