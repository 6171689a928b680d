package projections_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
)

// TestPropertyCold: a partition with memory for a few channels publishes the same and has the same
// bytes after each cut as one with memory for all, gives the answers of the model, and is the same
// after restarts.
func TestPropertyCold(t *testing.T) {
	n := coldSeen{}
	scripts(t, 15, n.asLarge)
	n.check(t)
}

// TestPropertyColdLogs is TestPropertyCold for channels whose logs end.
func TestPropertyColdLogs(t *testing.T) {
	n := coldSeen{}
	scriptsOf(t, 3, random.DrawRule("logs that end while another channel goes on"), n.asLarge)
	n.check(t)
	if !testing.Short() && (n.trimmed == 0 || n.waiting == 0) {
		t.Errorf("%d times a channel with a trimmed log was cold, and %d times one stayed because its log waited", n.trimmed, n.waiting)
	}
}

// coldSeen counts what runs of asLarge have met.
type coldSeen struct {
	left, answers, unlisted, listed, trimmed, waiting int
	woken                                             int64
}

func (n *coldSeen) check(t *testing.T) {
	t.Helper()
	t.Logf("%+v", *n)
	if n.left == 0 || n.woken == 0 || n.answers == 0 {
		t.Error("no channel was ever cold")
	}
}

func (n *coldSeen) countLogs(small *projections.Partition) {
	waiting, trimmed := small.ColdLogs()
	n.waiting, n.trimmed = n.waiting+waiting, n.trimmed+trimmed
}

// asLarge compares a partition with memory for a few channels with one with memory for all.
func (n *coldSeen) asLarge(t *rapid.T, c *random.Case) {
	fs := [...]vfs.FS{vfs.NewMem(), vfs.NewMem()}
	memory := int64(0)
	later := rapid.Bool().Draw(t, "list later")
	small, large := openSmall(t, fs[0], c.Settings, &memory, later), open(t, fs[1], c.Settings)
	list := func(some int) {
		if listSome(t, small, some) {
			n.listed++
		}
	}
	defer func() { closePartition(t, small); closePartition(t, large) }()
	m := model.New(c.Settings)
	order := interleaving(t, &c.Log, "order")
	output := newPublished()
	for i := range order {
		if rapid.IntRange(0, 3).Draw(t, "fetch") == 0 {
			if err := small.Fetch(channelsOf(order[i:min(i+3, len(order))])); err != nil {
				t.Fatal(err)
			}
		}
		order[i].Fold(small)
		order[i].Fold(large)
		if some := rapid.IntRange(-3, 2).Draw(t, "list"); some > 0 {
			list(some)
		}
		order[i].AddTo(m)
		at := fmt.Sprintf("after %d records", i+1)
		then := rapid.IntRange(0, 9).Draw(t, "then")
		if then < 4 {
			continue
		}
		output.both(t, small, large, m, at)
		if then < 7 {
			continue
		}
		for range rapid.IntRange(1, 3).Draw(t, "cuts") { // a channel in use leaves with the second
			memory = rapid.SampledFrom([]int64{0, 1, 1, 30_000}).Draw(t, "memory")
			cut(t, small)
			cut(t, large)
		}
		if a, b := dump(t, small), dump(t, large); a != b {
			t.Fatalf("%s the bytes differ with a memory of few channels:\n%s\nand of all:\n%s", at, a, b)
		}
		s := small.Stats()
		n.left += s.ColdChannels
		n.countLogs(small)
		if !small.Listed() { // what is asked about channels only
			n.unlisted++
			sameViews(t, small, large, m, at)
			list(1000)
		}
		asked := &model.WithCold{Partition: small}
		if d := m.Diff(asked); d != "" {
			t.Fatalf("%s, %d of %d channels cold:\n%s", at, s.ColdChannels, s.Channels, d)
		}
		asked.Close()
		n.answers += asked.Answers
		if then == 8 {
			n.woken += small.Stats().Loaded
			closePartition(t, small)
			closePartition(t, large)
			small, large = openSmall(t, fs[0], c.Settings, &memory, later), open(t, fs[1], c.Settings)
			refold(t, small, order[:i+1], nil)
			refold(t, large, order[:i+1], nil)
		}
	}
	output.both(t, small, large, m, "at the end")
	memory = 1
	for range 2 {
		cut(t, small)
		cut(t, large)
	}
	if a, b := dump(t, small), dump(t, large); a != b {
		t.Fatalf("at the end the bytes differ with a memory of few channels:\n%s\nand of all:\n%s", a, b)
	}
	n.countLogs(small)
	n.woken += small.Stats().Loaded
}

// both takes what two partitions emit. The small one emits nothing that the large one does not, and
// readers miss nothing. It may leave out that a user has nothing in a thread, if that was published
// before.
func (d *published) both(t rapid.TB, small, large *projections.Partition, m *model.Model, at string) {
	t.Helper()
	var of, all projections.Deltas
	small.Drain(&of, true)
	large.Drain(&all, true)
	lines := map[string]bool{}
	for _, r := range all.Records {
		lines[recordText(&r)] = true
	}
	for _, r := range of.Records {
		if line := recordText(&r); !lines[line] {
			t.Fatalf("%s only the partition with a memory of few channels published %s", at, line)
		}
	}
	d.take(t, &of, m, at, false)
	d.check(t, m, at)
}

func recordText(r *projections.OutRecord) string {
	return fmt.Sprintf("%d/%d %q = %x", r.Topic, r.Partition, r.Key, r.Value)
}

// channelsOf returns the channels that some records name.
func channelsOf(list []script.Record) (ids [][]byte) {
	for _, r := range list {
		switch {
		case r.Message != nil:
			ids = append(ids, r.Message.ChannelID)
		case r.Read != nil:
			ids = append(ids, r.Read.ChannelID)
		default:
			ids = append(ids, r.Delivery.ChannelID)
		}
	}
	return ids
}

// openSmall is open with the memory to use. Cuts become tables.
func openSmall(t rapid.TB, fs vfs.FS, s projections.Settings, memory *int64, later bool) *projections.Partition {
	p := openWith(t, s, projections.Options{FS: fs, ListLater: later, MemTableSize: 256 << 10, Memory: func() int64 { return *memory }})
	p.CutIntoTables()
	return p
}
