package bench

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestReplayOn: rebuild and consume are both measured on all records.
func TestReplayOn(t *testing.T) {
	out, err := replayOn(t.Context(), Env{Brokers: testkit.FakeKafka(t).ListenAddrs()}, "embedded broker", 2000)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != 2 || out[0].Rate <= 0 || out[1].Rate <= 0 || len(out[1].Goals) != 1 || !strings.Contains(out[1].Note, "of a bare consume") {
		t.Errorf("%+v", out)
	}
}
