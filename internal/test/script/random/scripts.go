package random

import (
	"flag"
	"math/rand/v2"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Scripts runs a property over n random scripts, with -short over a fifth of them. It prints the
// seeds: rapid's are the first one plus 0, 1, 3, 6, 10, ..., and -rapid.seed with the first one
// runs the same scripts again. It shrinks a failing script and prints it as the input of a golden
// file.
func Scripts(t *testing.T, n int, draw func(*rapid.T) *Case, property func(*rapid.T, *Case)) {
	t.Helper()
	seed := flag.Lookup("rapid.seed").Value.String()
	if seed == "0" {
		seed = strconv.FormatUint(uint64(rand.Uint32())+1, 10)
	}
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(n), "rapid.seed": seed, "rapid.nofailfile": "true"} {
		old := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := flag.Set(name, old); err != nil {
				t.Error(err)
			}
		}()
	}
	if testing.Short() {
		n /= 5 // as rapid does
	}
	first, _ := strconv.ParseUint(seed, 10, 64)
	t.Logf("%d scripts, seeds %d to %d", n, first, first+uint64(n)*uint64(n-1)/2)
	next, i := first, uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		next, i = next+i, i+1
		c := draw(t)
		c.Seed = next
		t.Logf("script:\n%s", c)
		property(t, c)
	})
}
