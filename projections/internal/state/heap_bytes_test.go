package state

import (
	"runtime"
	"strings"
	"testing"
)

// TestHeapBytesOfSaid: the counted size of users' settings of a channel equals their size in the
// heap, within a tenth.
func TestHeapBytesOfSaid(t *testing.T) {
	const pairs = 5000
	kept := make([]*PairExtra, pairs)
	measured := func(with bool) int64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range kept {
			x := &PairExtra{}
			if with {
				x.Settings = &UserSettings{Line: Line{ID: strings.Repeat("m", 26)}, Labels: []string{strings.Repeat("a", 20), strings.Repeat("b", 30)}, Filed: File(Since{Is: true, HeadSeq: 1}, true)}
				x.Read = &OwnPost{Seq: uint32(i), At: 1, Kept: &OwnReads{Seqs: []uint32{uint32(i)}}}
			}
			kept[i] = x
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		n := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		runtime.KeepAlive(kept)
		return n
	}
	measured(false)
	without := kept[0].HeapBytes()
	clear(kept)
	plain := measured(false)
	clear(kept)
	runtime.GC()
	all := measured(true)
	heap, counted := (all-plain)/pairs, kept[0].HeapBytes()-without
	if off := heap - counted; off > heap/10 || -off > heap/10 {
		t.Errorf("the heap has %d bytes of what a user says, %d are counted", heap, counted)
	}
	t.Logf("%d bytes on the heap, %d counted", heap, counted)
}
