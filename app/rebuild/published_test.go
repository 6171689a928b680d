package rebuild

import (
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// TestTellable: a store may be a node's if all that it holds was told to somebody, and a refusal
// says what to do.
func TestTellable(t *testing.T) {
	published := map[int32]projections.Position{0: {10, 5, 3}, 1: {0, 7, 0}}
	for _, c := range []struct {
		name   string
		number int32
		at     projections.Position
		refuse string
	}{
		{"at the offsets", 0, projections.Position{10, 5, 3}, ""},
		{"behind them", 0, projections.Position{9, 0, 3}, ""},
		{"nothing folded", 2, projections.Position{}, ""},
		{"ahead in one input", 0, projections.Position{1, 6, 1}, "partition 0: the rebuilt store is at [1 6 1], and group g has published up to [10 5 3]"},
		{"in an input without an offset", 1, projections.Position{1, 0, 0}, "--into"},
		{"nothing was published", 2, projections.Position{0, 0, 1}, "partition 2: group g has published nothing of it"},
	} {
		err := Tellable(map[int32]projections.Position{c.number: c.at}, "g", published)
		if (err == nil) != (c.refuse == "") || err != nil && !strings.Contains(err.Error(), c.refuse) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refuse)
		}
	}
	both := map[int32]projections.Position{0: {11, 0, 0}, 2: {1, 0, 0}}
	if err := Tellable(both, "g", published); err == nil || !strings.Contains(err.Error(), "partition 0") || !strings.Contains(err.Error(), "partition 2") {
		t.Errorf("of two partitions that are refused it says %v", err)
	}
}

// TestPublished: of each partition the committed offsets, and nothing of those of which nothing is
// committed or which are other topics'.
func TestPublished(t *testing.T) {
	brokers := testkit.FakeKafka(t).ListenAddrs()
	topics := testkit.Topics(t, brokers, 3, 1)
	var inputs [events.NumInputs]string
	for i, name := range events.InputTopics {
		inputs[i] = topics.Name(name)
	}
	adm := testkit.Admin(t, brokers)
	group := testkit.UniqueName(t, "g")
	if got, err := Published(t.Context(), adm, group, inputs); err != nil || len(got) != 0 {
		t.Errorf("of a group that is not there: %v, %v", got, err)
	}
	var o kadm.Offsets
	o.AddOffset(inputs[0], 0, 10, -1)
	o.AddOffset(inputs[1], 0, 5, -1)
	o.AddOffset(inputs[2], 0, 3, -1)
	o.AddOffset(inputs[1], 2, 7, -1)
	o.AddOffset(topics.Name(events.TopicUnread), 1, 99, -1)
	if err := adm.CommitAllOffsets(t.Context(), group, o); err != nil {
		t.Fatal(err)
	}
	want := map[int32]projections.Position{0: {10, 5, 3}, 2: {0, 7, 0}}
	if got, err := Published(t.Context(), adm, group, inputs); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
