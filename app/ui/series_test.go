package ui

import (
	"math"
	"net/http"
	"strings"
	"testing"
)

// Samples are kept for an hour. The median is over the observations between two samples.
func TestSeries(t *testing.T) {
	s := &series{}
	h := histogram{Buckets: [][2]float64{{.001, 0}, {.002, 0}, {.004, 0}}}
	add := func(at int64, low, high uint64) *float64 {
		h.Count += low + high
		h.Buckets = [][2]float64{{.001, h.Buckets[0][1]}, {.002, h.Buckets[1][1] + float64(low)}, {.004, h.Buckets[2][1] + float64(low+high)}}
		s.add(Sample{At: at}, h)
		return s.samples[len(s.samples)-1].Publish
	}
	if m := add(1, 10, 0); m == nil || math.Abs(*m-.0015) > 1e-9 {
		t.Errorf("all in the second bucket: %v", m)
	}
	if m := add(2, 0, 0); m != nil {
		t.Errorf("nothing was published: %v", *m)
	}
	if m := add(3, 0, 10); m == nil || math.Abs(*m-.003) > 1e-9 {
		t.Errorf("all in the third bucket: %v", m)
	}
	for i := range int64(500) {
		add(10+i, 1, 0)
	}
	if len(s.samples) != sampleCount || s.samples[0].At != 10+500-sampleCount {
		t.Errorf("%d samples, the first of %d", len(s.samples), s.samples[0].At)
	}
	u, _ := page(t)
	u.takeSample()
	if w := ask(u, http.MethodGet, "/ui/api/series", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"every":10,"samples":[{"at":`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
