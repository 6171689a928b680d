package projections_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
)

// TestPropertyExcerpt: an excerpt continues like the store that it was made from. Whatever is
// folded afterwards, the records of its channels have the same bytes in both. It needs only the log
// times of other channels, and has them.
func TestPropertyExcerpt(t *testing.T) {
	scripts(t, 10, excerpted)
}

func excerpted(t *rapid.T, c *random.Case) {
	fs := vfs.NewMem()
	whole := open(t, fs, c.Settings)
	defer closePartition(t, whole)
	order := interleaving(t, &c.Log, "order")
	at := rapid.IntRange(0, len(order)).Draw(t, "at")
	fold(whole, order[:at])
	cut(t, whole)
	channels := chosen(t, order)
	pos, large, err := whole.Excerpt("excerpt", channels, 1<<20)
	if err != nil || len(large) > 0 || pos != whole.StoredPosition() {
		t.Fatalf("at %v, left out %q, %v; the store is at %v", pos, large, err, whole.StoredPosition())
	}
	excerpt, err := projections.Open("excerpt", whole.Identity(), projections.Options{FS: fs, MemTableSize: 256 << 10})
	if err != nil {
		t.Fatalf("the excerpt of %q does not open: %v", channels, err)
	}
	defer closePartition(t, excerpt)
	for _, p := range []*projections.Partition{whole, excerpt} {
		fold(p, order[at:])
		cut(t, p)
	}
	if got, want := recordsOf(t, excerpt, channels), recordsOf(t, whole, channels); got != want {
		t.Fatalf("after an excerpt of %q behind record %d of\n%sthe excerpt has\n%s\nthe store\n%s", channels, at, orderText(order), got, want)
	}
}

// chosen draws some channels of a log.
func chosen(t *rapid.T, order []script.Record) (channels []string) {
	for i := range order {
		switch r := &order[i]; {
		case r.Message != nil:
			channels = append(channels, string(r.Message.ChannelID))
		case r.Read != nil:
			channels = append(channels, string(r.Read.ChannelID))
		default:
			channels = append(channels, string(r.Delivery.ChannelID))
		}
	}
	slices.Sort(channels)
	return slices.DeleteFunc(slices.Compact(channels), func(string) bool { return rapid.Bool().Draw(t, "left out") })
}

// recordsOf returns the records of channels as text, except receipts.
func recordsOf(t rapid.TB, p *projections.Partition, channels []string) string {
	t.Helper()
	var b strings.Builder
	if err := p.Dump(func(key, value []byte) error {
		channel, _, _ := strings.Cut(string(key[1:]), "\x00")
		if key[0] != 'R' && slices.Contains(channels, channel) {
			fmt.Fprintf(&b, "%q = %x\n", key, value)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An excerpt leaves out a channel with more bytes than the limit, and names it. A closed partition
// has no excerpt, and neither has one that was never cut.
func TestExcerptIsBounded(t *testing.T) {
	fs := vfs.NewMem()
	p := open(t, fs, projections.DefaultSettings())
	if _, _, err := p.Excerpt("none", []string{"c"}, 1<<20); err == nil {
		t.Error("a store without a cut has an excerpt")
	}
	var parser script.Parser
	records, err := parser.Parse("a, b join #c\na posts m1, m2 #c\na, b join #d\na posts n1 #d")
	if err != nil {
		t.Fatal(err)
	}
	fold(p, records)
	cut(t, p)
	if _, large, err := p.Excerpt("small", []string{"c", "d", "unknown"}, 64); err != nil || !slices.Equal(large, []string{"c", "d"}) {
		t.Errorf("left out %q, %v", large, err)
	}
	if _, large, err := p.Excerpt("large", []string{"c", "unknown"}, 1<<20); err != nil || len(large) > 0 {
		t.Errorf("left out %q, %v", large, err)
	}
	if _, _, err := p.Excerpt("large", []string{"c"}, 1<<20); err == nil {
		t.Error("an excerpt was made over another one")
	}
	x, err := projections.OpenReadOnly("large", fs)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := x.View("b", "c"); v.Unread != 2 || len(x.Users("d")) > 0 {
		t.Errorf("%+v, users of d %q", v, x.Users("d"))
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Excerpt("closed", []string{"c"}, 1<<20); !errors.Is(err, projections.ErrClosing) {
		t.Errorf("of a closed partition: %v", err)
	}
}
