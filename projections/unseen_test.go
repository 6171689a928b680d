package projections_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// TestUnseenIsTakenBack: an owner publishes deltas and dies before it commits. The next owner folds
// the rest in another order and at once, so it never reaches the states behind these deltas, and
// must still retract them.
func TestUnseenIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		fanout    uint32
		committed string
		rest      string // a line for each record
		before    []int  // the lines that the first owner folds, in its order, from 0 on
		now       []int  // all lines in the order of the second owner
	}{
		"a thread is followed in a channel that is deleted": {
			50, "a, b join", "delete the channel\na follows m1", []int{1}, []int{0, 1},
		},
		"who is no member reads in a channel that is deleted": {
			50, "b joins\nb posts m1", "delete the channel\na reads up to m1\na mutes", []int{1, 2}, []int{0, 1, 2},
		},
		"a message is queued in a large channel, and deleted": {
			0, "a, b join\nb posts m1", "delete m1\na misses m1", []int{1}, []int{0, 1},
		},
		"and purged": {
			0, "a, b join\nb posts m1", "purge up to m1\na misses m1", []int{1}, []int{0, 1},
		},
		"what is hidden in a large channel is posted, and counts nowhere": {
			0, "a, b join", "b posts r1 in thread m1\na hides up to seq 1", []int{1}, []int{0, 1},
		},
		"a channel is filed again before a message that would have been news": {
			0, "a, b join\nb files at 0:00:01", "b files at 0:00:03\na posts r1 in thread m1 at 0:00:02", []int{1}, []int{0, 1},
		},
		"a reply brings back a thread of which all was purged, and is deleted": {
			50, "a, b join\nb posts m1\na posts r1 in thread m1\npurge up to r1", "b posts r2 in thread m1\ndelete r2", []int{0}, []int{0, 1},
		},
		"a reply comes and goes while something else of its follower closes": {
			50, "a, b join\nb posts m1\na posts r1 in thread m1\nb posts r2 in thread m1\na marks unread r2 in thread m1 head seq 4",
			"b posts m2\nb posts r3 in thread m1\ndelete r3", []int{0, 1}, []int{0, 1, 2},
		},
		"a read waits for its message, and its user is erased": {
			50, "a, b join\na unfollows m4", "a reads up to m3 in thread m4\na is erased\nb posts m3", []int{2, 0}, []int{0, 1, 2},
		},
		"a follow from earlier on, of replies that are deleted": {
			50, "a, b join\nb posts m1\nb posts r1 in thread m1\nb posts r2 in thread m1 @a",
			"delete r1\na follows m1 at 0:00:02 recorded 0:00:09", []int{1}, []int{0, 1},
		},
		"an edit makes somebody follow from earlier on, of replies that he read singly": {
			50, "a, b join\nb posts m1\nb posts r1 in thread m1\nb posts r2 in thread m1 @a",
			"a reads r1 in thread m1\nedit r1 @a", []int{1}, []int{0, 1},
		},
		"the root comes after its replies, of which its author read the first singly": {
			50, "a, b join\nb posts r1 in thread m1\nb posts r2 in thread m1 @a",
			"a reads r1 in thread m1\na posts m1", []int{1}, []int{0, 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := projections.DefaultSettings()
			s.FanoutLimit = c.fanout
			m := model.New(s)
			parse := parser(t, m)
			committed, rest := parse(c.committed), parse(c.rest)
			for _, stored := range []bool{false, true} {
				kept, before, now := newPublished(), newPublished(), newPublished()
				p := owner(t, s, m, committed, kept, stored)
				for _, i := range c.before {
					rest[i].Fold(p)
					before.drain(t, p, m, "the owner before", false)
				}
				closePartition(t, p)
				p = owner(t, s, m, committed, newPublished(), stored)
				for _, i := range c.now {
					rest[i].Fold(p)
				}
				now.drain(t, p, m, "the owner", false)
				closePartition(t, p)
				kept.read(before)
				kept.read(now)
				kept.check(t, m, "what readers keep in the end")
			}
		})
	}
}

// parser returns a function that parses lines to records, one call after the other, and adds them
// to the model.
func parser(t *testing.T, m *model.Model) func(text string) []script.Record {
	var parser script.Parser
	var log script.Log
	return func(text string) (out []script.Record) {
		t.Helper()
		for line := range strings.Lines(text) {
			records, err := parser.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				r = log.Add(r)
				r.AddTo(m)
				out = append(out, r)
			}
		}
		return out
	}
}

// TestFarewellsGoOn: a reopened store has no users of a deleted channel any more. The deltas that
// it publishes then have stamps that dominate those of all earlier deltas. Otherwise the channel's
// values would go back.
func TestFarewellsGoOn(t *testing.T) {
	s := projections.DefaultSettings()
	m := model.New(s)
	parse := parser(t, m)
	committed := parse("a, b join\nb posts m1\nb posts r1 in thread m1 @a\nb posts m2\na gets m1\na gets m2\na follows m1\ndelete the channel")
	rest := parse("a reads up to m2\na reads up to r1 in thread m1")
	for _, stored := range []bool{false, true} {
		before, now := newPublished(), newPublished()
		p := owner(t, s, m, committed, before, stored)
		fold(p, rest)
		now.drain(t, p, m, "after the deletion", false)
		closePartition(t, p)
		if len(now.last) != 2 {
			t.Fatalf("stored %t: %d keys are told, want that of the channel and that of the thread", stored, len(now.last))
		}
		for key, v := range now.last {
			if was, ok := before.last[key]; !ok || was.Stamp.D == 0 || !v.Stamp.Dominates(was.Stamp) {
				t.Errorf("stored %t: %q has the stamp %v, and had %v", stored, key, v.Stamp, was.Stamp)
			}
		}
	}
}

// TestFarewellsOfTwoOwners: an owner without the user publishes the position of all deliveries. Its
// successor still has the user from before the deletion, and its stamps dominate.
func TestFarewellsOfTwoOwners(t *testing.T) {
	s := projections.DefaultSettings()
	m := model.New(s)
	parse := parser(t, m)
	committed := parse("a, b join\nb posts m1\nb posts r1 in thread m1 @a\na follows m1\nb gets m1\ndelete the channel")
	first := parse("a reads up to m1\na reads up to r1 in thread m1")
	then := parse("a reads up to m1\na reads up to r1 in thread m1")
	was, now := newPublished(), newPublished()
	p := owner(t, s, m, committed, newPublished(), true)
	fold(p, first)
	was.drain(t, p, m, "the first owner", false)
	closePartition(t, p)
	p = owner(t, s, m, committed, newPublished(), false)
	defer closePartition(t, p)
	fold(p, first)
	fold(p, then)
	now.drain(t, p, m, "the second owner", false)
	for key, v := range was.last {
		if next, ok := now.last[key]; !ok || !next.Stamp.Dominates(v.Stamp) {
			t.Errorf("%q had the stamp %v, and has %v", key, v.Stamp, next.Stamp)
		}
	}
	if len(was.last) != 2 {
		t.Errorf("%d keys were told, want that of the channel and that of the thread", len(was.last))
	}
}

// owner is a partition that has folded and published the committed records. If stored, it is opened
// from its store afterwards.
func owner(t rapid.TB, s projections.Settings, m *model.Model, committed []script.Record, kept *published, stored bool) *projections.Partition {
	t.Helper()
	fs := vfs.NewMem()
	p := open(t, fs, s)
	fold(p, committed)
	kept.drain(t, p, m, "what is committed", false)
	if stored {
		cut(t, p)
		closePartition(t, p)
		p = open(t, fs, s)
	}
	return p
}
