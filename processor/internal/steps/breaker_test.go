package steps

import (
	"testing"

	"github.com/tidemark/tidemark/processor/internal/setup"
)

func TestBreakerNeedsBothNumberAndShare(t *testing.T) {
	for _, c := range []struct {
		name      string
		good, bad int
		tripsAt   int // the number of the bad record, from 1; 0: none
	}{
		{"only bad ones", 0, 1000, 200},
		{"few bad ones", 0, 199, 0},
		{"half is not more than half", 500, 500, 0},
		{"more than half of the window", 2000, 1000, 501},
		{"of those that there are", 250, 1000, 251},
	} {
		b := breakerOf(t, setup.Breaker{})
		for range c.good {
			if b.note(false) {
				t.Errorf("%s: a good record trips it", c.name)
			}
		}
		at := 0
		for i := range c.bad {
			if b.note(true) && at == 0 {
				at = i + 1
			}
		}
		if at != c.tripsAt {
			t.Errorf("%s: trips at bad record %d, want %d", c.name, at, c.tripsAt)
		}
	}
}

func TestBreakerForgets(t *testing.T) {
	b := breakerOf(t, setup.Breaker{})
	for range 100 { // a third is bad all the time
		for range 60 {
			if b.note(true) {
				t.Fatal("tripped by a third of bad records")
			}
		}
		for range 120 {
			b.note(false)
		}
	}
	if b.bad > 1000 || len(b.bits) != 1000 {
		t.Errorf("%d bad among %d", b.bad, len(b.bits))
	}
}

func TestBreakerOff(t *testing.T) {
	b := breakerOf(t, setup.Breaker{Off: true})
	for range 5000 {
		if b.note(true) {
			t.Fatal("tripped although it is off")
		}
	}
}

// breakerOf returns the breaker of a partition with this configuration.
func breakerOf(t *testing.T, b setup.Breaker) *breaker {
	t.Helper()
	c, err := setup.Check(setup.Config{Brokers: []string{"x"}, Group: "g", Breaker: b})
	if err != nil {
		t.Fatal(err)
	}
	return newBreaker(c.Breaker)
}
