package wire

import "testing"

// With any number of connections, each has one turn in a round, always at the same step, and every
// step has about as many turns. A single connection is not pinged at every step, and never are all
// pinged at once.
func TestEachConnectionIsPingedOnceInARound(t *testing.T) {
	for _, n := range []int{0, 1, 2, pingSteps - 1, pingSteps, pingSteps + 1, 1000} {
		list := make([]*Conn, n)
		for i := range list {
			list[i] = &Conn{number: uint64(i + 1)}
		}
		var r round
		last := map[*Conn]int{}
		const rounds = 4
		for step := range rounds * pingSteps {
			due := r.next(func() []*Conn { return list })
			if len(due) > n/pingSteps+1 {
				t.Fatalf("of %d connections %d are pinged at once", n, len(due))
			}
			for _, c := range due {
				if before, ok := last[c]; ok && step-before != pingSteps || !ok && step >= pingSteps {
					t.Fatalf("of %d connections number %d is pinged at step %d, and was at %d", n, c.number, step, before)
				}
				last[c] = step
			}
		}
		for _, c := range list {
			if at, ok := last[c]; !ok || at < (rounds-1)*pingSteps {
				t.Errorf("of %d connections number %d is not pinged in the last round", n, c.number)
			}
		}
	}
}

// A connection that comes during a round has its first turn in the next round. A connection that
// has gone has no turn after this round.
func TestWhoComesDuringARoundWaitsForTheNext(t *testing.T) {
	early, late := &Conn{number: 3}, &Conn{number: 4}
	list := []*Conn{early}
	var r round
	var got []uint64
	for step := range 3 * pingSteps {
		if step == 1 {
			list = []*Conn{early, late}
		}
		if step == pingSteps+1 {
			list = []*Conn{late}
		}
		for _, c := range r.next(func() []*Conn { return list }) {
			got = append(got, c.number)
		}
	}
	if want := [...]uint64{3, 3, 4, 4}; len(got) != len(want) || [4]uint64(got) != want {
		t.Errorf("pinged are %v, want %v", got, want)
	}
}
