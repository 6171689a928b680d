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
