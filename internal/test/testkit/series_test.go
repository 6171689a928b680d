package testkit

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// counting counts failures instead of failing.
type counting struct {
	testing.TB
	errors int
}

func (*counting) Helper()                 {}
func (c *counting) Errorf(string, ...any) { c.errors++ }
func (c *counting) Error(...any)          { c.errors++ }

func TestSeriesThatHaveNotBegunAreFound(t *testing.T) {
	s := NewSeries()
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "odd_total", Help: "x"}, []string{"why"})
	s.MustRegister(v, prometheus.NewCounter(prometheus.CounterOpts{Name: "plain_total", Help: "x"}))
	c := &counting{TB: t}
	if s.AllBegun(c); c.errors != 1 {
		t.Errorf("%d errors for a vector without series, want 1", c.errors)
	}
	s.AllBegun(t, "odd_total")
	v.WithLabelValues("because")
	s.AllBegun(t)
	c.errors = 0
	if s.AllBegun(c, "odd_total"); c.errors != 1 {
		t.Errorf("%d errors for an excuse that is not needed, want 1", c.errors)
	}
	c.errors = 0
	if NewSeries().AllBegun(c); c.errors != 1 {
		t.Errorf("%d errors for a registry without metrics, want 1", c.errors)
	}
}
