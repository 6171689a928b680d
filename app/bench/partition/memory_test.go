package partition

import "testing"

// TestMemoryOf: the bench memory measures hot state and disk of all pairs, and cold pairs take less.
func TestMemoryOf(t *testing.T) {
	r, err := memoryOf(400)
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "memory and disk, 20000 pairs, 4000 events" || len(r.Goals) != 3 || r.Goals[1].Got < 1 || r.Goals[1].Got > 40 {
		t.Errorf("%+v", r)
	}
	for _, each := range []int{10, 1} {
		r, err := coldPairs(5_000, each)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", r)
		if g := r.Goals[0]; g.Got < 5 || g.Got > 70 {
			t.Errorf("%+v: %v", r, g)
		}
	}
}
