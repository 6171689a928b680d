package hashindex

import "testing"

func TestIndexFindsAllUnderOneHash(t *testing.T) {
	var x Index
	for _, n := range []int{0, 1, 7, 8, 1000, 3} {
		x.Reset(n)
		keys := make([]int, 0, n)
		for round := range 2 {
			for k := range n {
				at := x.Find(uint64(k%3), int32(len(keys)), func(i int32) bool { return keys[i] == k })
				if round == 0 {
					keys = append(keys, k)
				}
				if int(at) != k {
					t.Fatalf("%d keys: key %d found at %d", n, k, at)
				}
			}
		}
	}
}

// TestIndexGrows: an index finds everything that was put there when it was small, and Load finds it
// before.
func TestIndexGrows(t *testing.T) {
	const n = 100_000
	hash := func(k int32) uint64 { return uint64(k+1) * 0x9e3779b97f4a7c15 }
	var x Index
	for range 2 { // the second time there is room from the start
		x.Reset(n)
		for k := range int32(n) {
			if at := x.Load(hash(k)); at >= 0 {
				t.Fatalf("%d is there before it was put: %d", k, at)
			}
			if at := x.Find(hash(k), k, func(int32) bool { return false }); at != k {
				t.Fatalf("%d was put, found at %d", k, at)
			}
		}
		for k := range int32(n) {
			if at := x.Find(hash(k), n, func(i int32) bool { return i == k }); at != k || x.Load(hash(k)) != k {
				t.Fatalf("%d found at %d, loaded %d", k, at, x.Load(hash(k)))
			}
		}
	}
	x.Reset(1)
	if x.Reset(1); len(x.slots) != smallest {
		t.Errorf("a batch of one clears %d slots", len(x.slots))
	}
}
