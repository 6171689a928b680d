package projections_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
)

// TestPropertyAnOwnerBefore: an owner publishes folded records and crashes before it commits and
// stores them; the next owner folds everything in another order, most of it at once. Readers
// nevertheless end with the right values: the second owner takes back published values that it
// never computes itself. Each script has several owners of both kinds, and tries all combinations.
func TestPropertyAnOwnerBefore(t *testing.T) {
	draw := func(t *rapid.T) *random.Case {
		switch rapid.IntRange(0, 4).Draw(t, "of any kind") {
		case 4:
			return random.DrawRule(rapid.SampledFrom(random.Rules()).Draw(t, "rule"))(t)
		case 3:
			return random.DrawMore(folded...)(t)
		}
		return random.DrawTakenBackMore(folded...)(t)
	}
	scriptsOf(t, 20, draw, func(t *rapid.T, c *random.Case) {
		m := model.New(c.Settings)
		for in := range c.Log {
			for _, r := range c.Log[in] {
				r.AddTo(m)
			}
		}
		store := open(t, vfs.NewMem(), c.Settings)
		defer closePartition(t, store)
		for range 3 {
			committed := interleavingOf(t, c, &c.Log, "committed")
			committed = committed[:rapid.IntRange(0, len(committed)).Draw(t, "committed")]
			rest := c.Log
			for i := range committed {
				rest[committed[i].Input] = rest[committed[i].Input][1:]
			}
			owner := func(order []script.Record, quick int) (known, published *published) {
				p := projections.Beside(store)
				known, published = newPublished(), newPublished()
				fold(p, committed)
				known.drain(t, p, m, "what is committed", false)
				for i := range order {
					order[i].Fold(p)
					if rapid.IntRange(0, 9).Draw(t, "drain") < quick {
						published.drain(t, p, m, "an owner", false)
					}
				}
				published.drain(t, p, m, "an owner", false)
				return known, published
			}
			var before [4]*published
			for i := range before {
				order := oneFirst(t, c, &rest)
				_, before[i] = owner(order[:rapid.IntRange(0, len(order)).Draw(t, "dies after")], 9)
			}
			for range 3 {
				known, now := owner(oneFirst(t, c, &rest), 1)
				right := newPublished() // values of readers who never saw an earlier owner
				right.read(known)
				right.read(now)
				right.check(t, m, "what readers keep of one owner")
				for _, b := range before {
					kept := newPublished()
					kept.read(known)
					kept.read(b)
					kept.read(now)
					if !kept.same(right) { // nearly always they are, and the model is slow
						kept.check(t, m, "what readers keep in the end")
					}
				}
			}
		}
	})
}

// TestPropertyAnOwnerBeforeAtEveryCut is TestPropertyAnOwnerBefore for every position of the first
// owner's group and store. One owner folds all of one topic and dies; the other begins with the
// other topic.
func TestPropertyAnOwnerBeforeAtEveryCut(t *testing.T) {
	scriptsOf(t, 10, random.DrawRepliesTakenBack, func(t *rapid.T, c *random.Case) {
		m := model.New(c.Settings)
		messages, reads := c.Log[events.Messages], c.Log[events.Reads]
		for _, r := range slices.Concat(messages, reads) {
			r.AddTo(m)
		}
		store := open(t, vfs.NewMem(), c.Settings)
		defer closePartition(t, store)
		for i := range messages {
			for j := range reads {
				owner := func(order ...[]script.Record) (known, published *published) {
					p := projections.Beside(store)
					known, published = newPublished(), newPublished()
					fold(p, messages[:i])
					fold(p, reads[:j])
					known.drain(t, p, m, "what is committed", false)
					for _, topic := range order {
						fold(p, topic)
					}
					published.drain(t, p, m, "an owner", false)
					return known, published
				}
				for _, first := range [][2][]script.Record{{messages[i:], reads[j:]}, {reads[j:], messages[i:]}} {
					_, before := owner(first[1])
					known, now := owner(first[0], first[1])
					right, kept := newPublished(), newPublished()
					right.read(known)
					right.read(now)
					kept.read(known)
					kept.read(before)
					kept.read(now)
					if !kept.same(right) {
						kept.check(t, m, fmt.Sprintf("%d messages and %d reads were committed: what readers keep in the end", i, j))
					}
				}
			}
		}
	})
}

// interleavingOf is interleaving of the last records of c's log, in which topics keep up (keepingUp).
func interleavingOf(t *rapid.T, c *random.Case, rest *script.Log, label string) []script.Record {
	return rest.Interleave(keepingUp(c, rest, func(left []events.Input) int {
		return rapid.IntRange(0, len(left)-1).Draw(t, label)
	}))
}

// oneFirst draws an order of the last records of c's log, in which topics keep up (keepingUp). In
// most orders one topic comes before or after all others.
func oneFirst(t *rapid.T, c *random.Case, rest *script.Log) []script.Record {
	in := events.Input(rapid.IntRange(0, events.NumInputs-1).Draw(t, "topic"))
	where := rapid.IntRange(0, 2).Draw(t, "first, last, between")
	return rest.Interleave(keepingUp(c, rest, func(left []events.Input) int {
		at := slices.Index(left, in)
		switch {
		case at < 0 || where == 2:
			at = rapid.IntRange(0, len(left)-1).Draw(t, "order")
		case where == 1:
			at = (at + rapid.IntRange(1, len(left)-1).Draw(t, "order")) % len(left)
		}
		return at
	}))
}

// TestAnOwnerBefore has cases that TestPropertyAnOwnerBefore seldom draws: an owner folds the
// remaining reads, publishes and crashes; the next one folds the remaining messages first, and then
// the reads.
func TestAnOwnerBefore(t *testing.T) {
	for what, c := range map[string]struct{ committed, rest []string }{
		// The first owner publishes the pointer at r1, because of the read. The second finds no
		// reply for the pointer, and the reply that it deletes was not unread.
		"a reply that was hidden is deleted under a read with threads": {
			[]string{"a, b join", "b posts m1", "a follows m1", "b posts r1, r2 in thread m1", "a hides r1"},
			[]string{"delete r1", "a reads up to r1 with threads"},
		},
		"a reply that was read singly is deleted under a read with threads": {
			[]string{"a, b join", "b posts m1", "a follows m1", "b posts r1, r2 in thread m1", "a reads r1 in thread m1"},
			[]string{"delete r1", "a reads up to r1 with threads"},
		},
	} {
		for name, between := range map[string]bool{"at once": false, "one by one": true} {
			t.Run(what+", "+name, func(t *testing.T) {
				s := projections.DefaultSettings()
				m, store := model.New(s), open(t, vfs.NewMem(), s)
				defer closePartition(t, store)
				parse := parser(t, m)
				committed, rest := parse(strings.Join(c.committed, "\n")), parse(strings.Join(c.rest, "\n"))
				owner := func(topics ...events.Input) *published {
					p, published := projections.Beside(store), newPublished()
					fold(p, committed)
					published.drain(t, p, m, "what is committed", false)
					for _, in := range topics {
						for i := range rest {
							if rest[i].Input == in {
								rest[i].Fold(p)
							}
						}
						if between {
							published.drain(t, p, m, "an owner", false)
						}
					}
					published.drain(t, p, m, "an owner", false)
					return published
				}
				kept := owner(events.Reads)
				kept.read(owner(events.Messages, events.Reads))
				kept.check(t, m, "what readers keep in the end")
			})
		}
	}
}
