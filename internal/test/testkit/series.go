package testkit

import (
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Series is a registry that remembers its collectors, so that a test can find metrics without
// series.
type Series struct {
	*prometheus.Registry
	collectors []prometheus.Collector
}

// NewSeries returns an empty registry.
func NewSeries() *Series { return &Series{Registry: prometheus.NewRegistry()} }

// Register implements prometheus.Registerer.
func (s *Series) Register(c prometheus.Collector) error {
	s.collectors = append(s.collectors, c)
	return s.Registry.Register(c)
}

// MustRegister implements prometheus.Registerer.
func (s *Series) MustRegister(all ...prometheus.Collector) {
	s.collectors = append(s.collectors, all...)
	s.Registry.MustRegister(all...)
}

var fqName = regexp.MustCompile(`fqName: "([^"]+)"`)

// AllBegun fails unless every metric that is not in without has series. If a series begins with its
// first event, an alert on the counter's increase misses that event.
func (s *Series) AllBegun(t testing.TB, without ...string) {
	t.Helper()
	begun, excused := map[string]bool{}, map[string]bool{}
	families, err := s.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		begun[f.GetName()] = true
	}
	for _, name := range without {
		excused[name] = true
	}
	known := 0
	for _, c := range s.collectors {
		descs := make(chan *prometheus.Desc)
		go func() {
			c.Describe(descs)
			close(descs)
		}()
		for d := range descs {
			known++
			if m := fqName.FindStringSubmatch(d.String()); m == nil {
				t.Errorf("%s has no name", d)
			} else if name := m[1]; begun[name] == excused[name] {
				t.Errorf("%s: has series %t, is in without %t", name, begun[name], excused[name])
			}
		}
	}
	if known == 0 {
		t.Error("nothing is registered")
	}
}
