package checker

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
)

// TestPropertyMirror: a reader that has nothing but deltas and channel records derives every user's
// whole answer, in small and in large channels: just before, at and after each time at which a
// level ends.
func TestPropertyMirror(t *testing.T) {
	t.Run("crowds", func(t *testing.T) { random.Scripts(t, 100, random.DrawCrowdMore(random.Folded()...), derivedRight) })
	t.Run("small", func(t *testing.T) { random.Scripts(t, 1000, random.DrawMore(random.Folded()...), derivedRight) })
}

func derivedRight(t *rapid.T, c *random.Case) {
	p, err := projections.Open("store", projections.Identity{Partitions: 1, Settings: c.Settings}, projections.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	m, reader := model.New(c.Settings), &Mirror{}
	order := c.Log.Interleave(func(left []events.Input) int { return rapid.IntRange(0, len(left)-1).Draw(t, "order") })
	for i, r := range order {
		r.Fold(p)
		r.AddTo(m)
		if i < len(order)-1 && rapid.IntRange(0, 3).Draw(t, "drained") > 0 {
			continue
		}
		read(t, p, reader)
	}
	if f := reader.CheckViewed([]*model.Model{m}); f.Count > 0 {
		t.Fatal(f)
	}
	for _, now := range timesOf(&c.Log) {
		if f := reader.CheckAnswers([]*model.Model{m}, m.Users(), now); f.Count > 0 {
			t.Fatalf("at %s: %s", script.FormatTime(now), f)
		}
	}
}

// read applies what a partition has to publish to a reader.
func read(t rapid.TB, p *projections.Partition, reader *Mirror) {
	t.Helper()
	var out projections.Deltas
	p.Drain(&out, true)
	for _, r := range out.Records {
		var err error
		switch r.Topic {
		case projections.OutUnread:
			err = reader.Apply(append([]byte(nil), r.Value...))
		case projections.OutChannels:
			err = reader.ApplyChannel(append([]byte(nil), r.Value...))
		case projections.OutReceipts:
			err = reader.ApplyReceipts(r.Value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// timesOf returns the times just before, at and just after the end of each level in a script.
func timesOf(l *script.Log) (out []int64) {
	out = []int64{script.Start}
	for _, r := range l[events.Reads] {
		if until := r.Read.Until; until != 0 {
			out = append(out, until-1, until, until+1)
		}
	}
	return out
}
