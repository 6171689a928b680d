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

// TestABurstIsForgotten: the memory of a drain that is much larger than those after it is freed. That
// of drains that come again and again is kept.
func TestABurstIsForgotten(t *testing.T) {
	var d Deltas
	var value [200]byte
	drain := func(records int) {
		d.Reset()
		for range records {
			d.Records = append(d.Records, Record{Value: d.Keep(value[:])})
		}
	}
	held := func() int { return len(d.chunks)*deltaChunk + cap(d.Records)*100 }
	drain(300_000)
	burst := held()
	for range 60 {
		drain(1000)
	}
	if held() > burst/4 {
		t.Errorf("%d bytes are held after small drains, %d after a burst", held(), burst)
	}
	for range 3 {
		drain(100_000)
		for range 12 {
			drain(100)
		}
	}
	before := held()
	if allocs := testing.AllocsPerRun(1, func() { drain(100); drain(100_000) }); allocs > 1000 || held() != before {
		t.Errorf("%v allocations in a drain of a usual size, %d bytes are held, %d before", allocs, held(), before)
	}
}
