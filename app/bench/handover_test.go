package bench

import (
	"context"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/traffic"
)

// TestHandover: partitions move in each of the measured ways. A dead member is missing for about a
// session timeout, counted from its last heartbeat, and the measurement must show that.
func TestHandover(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	err := on(ctx, Env{Brokers: testkit.FakeKafka(t).ListenAddrs()}, traffic.Mixes["S"], func(s *stage) error {
		if err := s.write(ctx, 2000); err != nil {
			return err
		}
		const session = 2 * time.Second
		for _, h := range []handover{
			{name: "joins", standbys: 1, members: 1, joins: true},
			{name: "stops", standbys: 1, members: 2},
			{name: "dies", standbys: 1, members: 2, dies: true, limit: time.Hour},
		} {
			h.session = session
			r, err := s.handover(ctx, h)
			if err != nil {
				return err
			}
			t.Logf("%+v", r)
			if h.dies && (len(r.Goals) != 1 || r.Goals[0].Got < (session/2).Seconds()) {
				t.Errorf("%+v: nobody answers before the session is over", r)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
