package projections

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// idSources are kinds of message ids: growing ones, nearly growing ones, ones without an order, and
// ones that change from one kind to another.
var idSources = map[string]func(rng *rand.Rand, i int) string{
	"growing": func(_ *rand.Rand, i int) string { return fmt.Sprintf("%06d", i) },
	"several generators": func(rng *rand.Rand, i int) string {
		return fmt.Sprintf("%06d-%d", i-rng.IntN(2)*rng.IntN(5), rng.IntN(1000))
	},
	"random":  func(rng *rand.Rand, _ int) string { return fmt.Sprintf("%016x", rng.Uint64()) },
	"falling": func(_ *rand.Rand, i int) string { return fmt.Sprintf("%06d", 999_999-i) },
	"changing": func(rng *rand.Rand, i int) string {
		if i/40%2 == 0 {
			return fmt.Sprintf("%06d", i)
		}
		return fmt.Sprintf("%06d", rng.IntN(1000))
	},
}

// TestIndexFindsEveryID compares the index with a map: for every id that was posted and for others,
// whatever order the ids come in, at every length of the open block, before and after the store was
// opened again, and after the ids have left the index and were posted again.
func TestIndexFindsEveryID(t *testing.T) {
	for name, source := range idSources {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 7))
				fs := vfs.NewMem()
				p := mustOpen(t, fs, testIdentity())
				now, off := int64(1000), int64(0)
				type message struct {
					seq  uint32
					time int64
				}
				posted := map[string][]message{}
				var ids []string
				seq := uint32(0)
				live := func(id string, now int64) uint32 {
					for _, m := range posted[id] {
						if now-m.time <= p.rules.Settings.IndexRetention {
							return m.seq
						}
					}
					return 0
				}
				post := func(id string) {
					m := &events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte(id), SenderID: []byte("b"), OccurredAt: now}
					want := state.OutcomeApplied
					if live(id, now) != 0 {
						want = state.OutcomeDuplicate
					} else {
						seq++
						posted[id] = append(posted[id], message{seq, now})
						ids = append(ids, id)
					}
					if got := p.rules.FoldMessage(m, off, now); got != want {
						t.Fatalf("post of %q at seq %d: outcome %d instead of %d", id, seq, got, want)
					}
					off++
				}
				check := func(id string, at int64) {
					x, _ := p.rules.Lookup(p.rules.Channels.At(p.rules.ChannelOf([]byte("c"))), []byte(id), state.IDHash([]byte(id)), at)
					if want := live(id, at); x.Seq != want {
						t.Fatalf("id %q at log time %d after %d messages: seq %d instead of %d", id, at, seq, x.Seq, want)
					}
				}
				n := 150 + rng.IntN(40)
				for i := range n {
					switch {
					case i == n/2 && seed%2 == 1: // everything so far leaves the index
						now += p.rules.Settings.IndexRetention + 1
					case rng.IntN(6) == 0 && len(ids) > 0:
						post(ids[rng.IntN(len(ids))])
					}
					now += rng.Int64N(3)
					post(source(rng, i))
					check(ids[rng.IntN(len(ids))], now)
					check(source(rng, i+1), now)
					check(ids[rng.IntN(len(ids))], 500) // as of a topic that lags
					if i%37 == 36 {
						mustCut(t, p)
						if err := p.Close(); err != nil {
							t.Fatal(err)
						}
						p = mustOpen(t, fs, testIdentity())
					}
				}
				for _, id := range ids {
					check(id, now)
					check(id, 500)
				}
				for i := range 50 {
					check(fmt.Sprintf("%06d~", i*20), now)
				}
				if err := p.rules.Err(); err != nil {
					t.Fatal(err)
				}
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestGrowingIDsCostNoEntry: a channel whose ids grow has index entries for its first messages
// only; one whose ids follow no order has one for each, and never searches its log.
func TestGrowingIDsCostNoEntry(t *testing.T) {
	for name, want := range map[string]int64{"growing": state.RunPlain, "random": 200} {
		fs := vfs.NewMem()
		p := mustOpen(t, fs, testIdentity())
		rng := rand.New(rand.NewPCG(3, 3))
		for i := range int64(200) {
			p.rules.FoldMessage(&events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), SenderID: []byte("b"),
				MessageID: []byte(idSources[name](rng, int(i))), OccurredAt: i}, i, i)
		}
		if plain := p.rules.Channels.At(p.rules.ChannelOf([]byte("c"))).Plain; (plain == 0) != (name == "random") {
			t.Errorf("%s ids: the newest message without an entry is %d", name, plain)
		}
		mustCut(t, p)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		x, err := Inspect("store", fs)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range x.Records {
			if r.Kind == "message index" && r.Count != want {
				t.Errorf("%s ids: %d index entries instead of %d", name, r.Count, want)
			}
		}
	}
}
