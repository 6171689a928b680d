package streams

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// A node and a user have slots, and a stream that ends frees its slot.
func TestLimit(t *testing.T) {
	l := NewLimit(3, 2, prometheus.NewGauge(prometheus.GaugeOpts{Name: "open"}))
	take := func(user string, want bool) func() {
		t.Helper()
		release, err := l.Acquire(user)
		if (err == nil) != want {
			t.Fatalf("%s: %v", user, err)
		}
		return release
	}
	first := take("ann", true)
	take("ann", true)
	take("ann", false)
	take("bob", true)
	take("cyd", false)
	first()
	take("cyd", true)
	take("ann", false)
	if l.total != 3 || l.perUser["ann"] != 1 {
		t.Errorf("%d are open, %v", l.total, l.perUser)
	}
}
