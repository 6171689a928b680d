package processor

import (
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/obs/codes"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/metrics"
)

// All series that an alert uses exist before the first event.
func TestSeriesFromTheStart(t *testing.T) {
	s := testkit.NewSeries()
	topics := Topics{Inputs: events.InputTopics, Unread: "u", Channels: "c", Receipts: "r", DeadLetters: "d"}
	if _, err := metrics.New(topics).Register(s); err != nil {
		t.Fatal(err)
	}
	s.AllBegun(t)
	values := gathered(t, s.Registry)
	for _, reason := range append([]events.Reason{ReasonSkipped}, events.LetterReasons...) {
		for _, topic := range events.InputTopics {
			if _, ok := values["tidemark_processor_dead_letters_total{code="+codes.OfLetter(string(reason))+",reason="+string(reason)+",topic="+topic+"}"]; !ok {
				t.Errorf("no series of dead letters of %s for %s", topic, reason)
			}
		}
	}
	for _, name := range []string{"restores_total{outcome=failed}", "restores_total{outcome=done}", "publish_refused_total{topic=u}", "partitions_moved_total{how=lost}"} {
		if v, ok := values["tidemark_processor_"+name]; !ok || v != 0 {
			t.Errorf("%s: %v, %t", name, v, ok)
		}
	}
}
