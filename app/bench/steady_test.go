package bench

import (
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/traffic"
)

// TestSteady: events come at the given rate at most, and all measured events are folded and
// published.
func TestSteady(t *testing.T) {
	env := Env{Brokers: testkit.FakeKafka(t).ListenAddrs()}
	if err := on(t.Context(), env, traffic.Mixes["S"], func(s *stage) error {
		const rate = 500
		r, err := s.steady(t.Context(), steadyLine{"small", rate, 1, 200})
		if err == nil && (r.Rate <= 0 || r.Rate > 2*rate || r.Note == "") {
			t.Errorf("%+v", r)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
