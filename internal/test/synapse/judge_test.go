package synapse

import (
	"encoding/json"
	"strings"

	"github.com/tidemark/tidemark/importer/compare"
	"github.com/tidemark/tidemark/internal/test/folded"
	"github.com/tidemark/tidemark/internal/test/matrix"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// judgeTopics compares the numbers that follow from the topics with those that follow from the
// actions.
func (b *bed) judgeTopics(w *world, t *truth) {
	b.t.Helper()
	got, posted := folded.Topics(b.t, b.kafka.Brokers, prefix)
	folded.Once(b.t, posted)
	var rooms []string
	for _, r := range w.rooms {
		rooms = append(rooms, r.id)
	}
	folded.Same(b.t, t.Model, got, w.names, rooms, w.roots())
}

// compared runs tidemark compare and returns its lines.
func (b *bed) compared(url string) (lines []compare.Line) {
	b.t.Helper()
	out := b.run(-1, b.args("compare", "--addr", url, "--all", "--json")...)
	for text := range strings.Lines(out) {
		var l compare.Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			b.t.Fatalf("%v\n%s", err, out)
		}
		lines = append(lines, l)
	}
	return lines
}

// ours returns the numbers that follow from the actions.
func (t *truth) ours(l *compare.Line) (unread, mentions int64) {
	if l.Thread == "" {
		v, _ := t.View(l.User, l.Channel)
		return int64(v.Unread), int64(v.Mentions)
	}
	v, _ := t.Thread(l.User, l.Channel, l.Thread)
	return int64(v.Unread), int64(v.Mentions)
}

// judgeLines compares each line of tidemark compare with the actions, and with the numbers that
// Synapse told its users.
func (b *bed) judgeLines(w *world, t *truth, lines []compare.Line, told map[string]map[matrix.Place]matrix.Counts) {
	b.t.Helper()
	buckets, moved := map[compare.Bucket]int{}, map[[2]string]int64{}
	for i := range lines {
		l := &lines[i]
		if buckets[l.Bucket]++; l.Bucket != compare.Equal {
			b.t.Log(l)
		}
		unread, mentions := t.ours(l)
		if l.Ours.Unread != unread || l.Ours.Mentions != nil && *l.Ours.Mentions != mentions {
			b.t.Errorf("%s, and by what was done %d (%d @)", l, unread, mentions)
		}
		switch parts := w.unjustified(t, l); {
		case len(parts) == 0:
		case len(parts) == 1 && parts[0] == staleWords:
			// Synapse's own rows have the number of the actions, so the number that Synapse stores
			// is stale. causes may not have the reason why Synapse did not update it.
			b.t.Logf("%s, and no cause is known why Synapse left it so", l)
		default:
			b.t.Errorf("%s, and what was done has no cause for it: %q", l, parts)
		}
		b.judgeTold(l, told[l.User], moved)
	}
	b.judgeRest(told, moved)
	b.t.Log(buckets)
}

// told restarts Synapse, so that it has nothing in its caches, and returns the numbers that it tells
// its users. After that Synapse is ended, so that nothing changes.
func (b *bed) told(w *world) map[string]map[matrix.Place]matrix.Counts {
	b.t.Helper()
	b.synapse.Kill()
	b.synapse.Start()
	told := map[string]map[matrix.Place]matrix.Counts{}
	for _, u := range w.names {
		var err error
		if told[u], err = w.users[u].Sync(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
	}
	b.synapse.Kill()
	return told
}

// judgeHealed makes sums of Synapse wrong, runs the statements of tidemark heal in its database, and
// compares again. No number may be wrong then, and Synapse must tell its users the corrected
// numbers.
func (b *bed) judgeHealed(w *world, url string) {
	b.t.Helper()
	testkit.SQL(b.t, b.pg.DSN, "UPDATE event_push_summary SET notif_count = notif_count + 20 WHERE notif_count <> 0")
	statements, err := command(b.t, b.args("heal", "--addr", url)...).Output()
	if err != nil {
		b.t.Fatal(err)
	}
	testkit.SQL(b.t, b.pg.DSN, string(statements))
	told := b.told(w)
	moved := map[[2]string]int64{}
	for _, l := range b.compared(url) {
		if l.Bucket == compare.TheirsWrong || l.Bucket == compare.OursWrong {
			b.t.Errorf("after heal: %s\n%s", &l, statements)
		}
		b.judgeTold(&l, told[l.User], moved)
	}
	b.judgeRest(told, moved)
	b.t.Logf("heal had %d statements", strings.Count(string(statements), "\n-- "))
}

// judgeTold compares Synapse's number in a line with /sync. If Synapse has summed up both a room
// and a thread of it, it adds what came in the room since then to the number of a thread, because
// its _get_unread_counts_by_pos_txn adds to the last summary that it read. So moved adds
// up, for each user and room, by how much the tables exceed /sync in the room and its threads. The
// sum must be 0.
func (b *bed) judgeTold(l *compare.Line, told map[matrix.Place]matrix.Counts, moved map[[2]string]int64) {
	b.t.Helper()
	at := matrix.Place{Room: l.Channel, Thread: l.Thread}
	reported := told[at]
	delete(told, at)
	more := l.Theirs.Unread - reported.Unread
	moved[[2]string{l.User, l.Channel}] += more
	if reported.Mentions != *l.Theirs.Mentions || l.Thread == "" && more < 0 || l.Thread != "" && more > 0 {
		b.t.Errorf("%s, and /sync told %d (%d @)", l, reported.Unread, reported.Mentions)
	}
}

// judgeRest fails for the sums of judgeTold that are not 0, and for numbers of /sync without a line.
func (b *bed) judgeRest(told map[string]map[matrix.Place]matrix.Counts, moved map[[2]string]int64) {
	b.t.Helper()
	for of, n := range moved {
		if n != 0 {
			b.t.Errorf("%s in %s: Synapse's tables have %d more than /sync", of[0], of[1], n)
		}
	}
	for user, places := range told {
		for at, reported := range places {
			if reported != (matrix.Counts{}) {
				b.t.Errorf("%s in %s %s: /sync told %+v, and no line has it", user, at.Room, at.Thread, reported)
			}
		}
	}
}
