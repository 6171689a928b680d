package views_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/rules"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/views"
)

// alone is a fold whose records stay in memory, with its queries. Its store is empty, and counts
// its readers.
type alone struct {
	views.Queries
	fold   rules.Fold
	stored views.Stored
	store  store

	parser script.Parser
	log    script.Log
}

func newAlone(s projections.Settings) *alone {
	a := &alone{}
	a.fold.Begin(s, memory{&a.fold})
	a.stored.Iterate = func() (views.Iterator, error) { a.store.begun++; return &a.store, nil }
	a.Queries = views.NewQueries(&a.fold, &a.stored)
	return a
}

// tell folds a story.
func tell(t *testing.T, story string) *alone {
	t.Helper()
	a := newAlone(projections.DefaultSettings())
	a.more(t, story)
	return a
}

// more folds later events.
func (a *alone) more(t *testing.T, story string) {
	t.Helper()
	for line := range strings.Lines(story) {
		records, err := a.parser.Parse(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			r = a.log.Add(r)
			r.Fold(&a.fold)
		}
	}
}

// randomScript returns the n-th random script, in a random interleaving of its topics.
func randomScript(n int) (s projections.Settings, records []script.Record) {
	draws := []*rapid.Generator[*random.Case]{rapid.Custom(random.Draw), rapid.Custom(random.DrawTakenBack), rapid.Custom(random.DrawCrowd)}
	c := draws[n%len(draws)].Example(n)
	rng := rand.New(rand.NewPCG(uint64(n), 0))
	return c.Settings, c.Log.Interleave(func(left []events.Input) int { return rng.IntN(len(left)) })
}

// names returns the users and channels of some records.
func names(records []script.Record) (users, channels []string) {
	seen := map[string]bool{}
	add := func(list *[]string, kind, name string) {
		if name != "" && !seen[kind+name] {
			seen[kind+name] = true
			*list = append(*list, name)
		}
	}
	for i := range records {
		switch r := &records[i]; {
		case r.Message != nil:
			add(&channels, "channel ", string(r.Message.ChannelID))
			add(&users, "user ", string(r.Message.SenderID))
		case r.Read != nil:
			add(&channels, "channel ", string(r.Read.ChannelID))
			add(&users, "user ", string(r.Read.UserID))
		}
	}
	return users, channels
}

// memory is the store of a fold, and is empty.
type memory struct{ fold *rules.Fold }

func (memory) Stored([]byte) (val []byte, ok bool, err error) { return nil, false, nil }

func (m memory) Scan(prefix []byte, fn func(key, val []byte)) error {
	var found [][2][]byte
	m.fold.Written.Now.Under(prefix, func(e overlay.Entry) {
		if !e.Deleted {
			found = append(found, [2][]byte{bytes.Clone(e.Key), bytes.Clone(e.Val)})
		}
	})
	for _, r := range found {
		fn(r[0], r[1])
	}
	return nil
}

func (memory) LoadCold(uint32, *state.Channel, []byte) error { return nil }

// store is an empty iterator. It calls seek before each access.
type store struct {
	begun, closed int
	err           error
	seek          func()
}

func (s *store) SeekGE([]byte) bool {
	if s.seek != nil {
		s.seek()
	}
	return false
}
func (*store) Next() bool                   { return false }
func (*store) Key() []byte                  { return nil }
func (*store) ValueAndErr() ([]byte, error) { return nil, nil }
func (s *store) Error() error               { return s.err }
func (s *store) Close() error               { s.closed++; return nil }
