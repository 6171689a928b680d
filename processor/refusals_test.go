package processor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// allFail waits until every partition of a member has failed with all of the texts, and the member
// reports so.
func (m *member) allFail(texts ...string) {
	m.t.Helper()
	until(m.t, fmt.Sprintf("every partition fails with %q", texts), func() bool {
		list := m.Status()
		for _, st := range list {
			if st.State != StateFailed {
				return false
			}
			for _, text := range texts {
				if !strings.Contains(st.Err.Error(), text) {
					return false
				}
			}
		}
		ok, lines := m.Ready()
		return len(list) > 0 && !ok && strings.Contains(strings.Join(lines, "\n"), texts[0])
	})
}

// TestPartitionsAddedWhileRunning: topics get another partition under a running member. Keys move
// from then on, so all of its partitions stop before a record of the new one is folded. A restart
// reports the same.
func TestPartitionsAddedWhileRunning(t *testing.T) {
	inBubble(t, 2, 1, func(t *testing.T, b *bubble) {
		names := b.names()
		b.addPartitions(t, append(names.Inputs[:], names.Unread, names.Channels, names.Receipts)...)
		m := b.of[0]
		m.allFail("had 2 partitions when this process started and have 3 now")
		for n, at := range b.committed() {
			if end := b.ends()[n]; at[events.Messages] > end[events.Messages] {
				t.Errorf("partition %d: committed %v beyond %v", n, at, end)
			}
		}
		m.stop()
		b.restart(m)
		until(t, "a restart says the same", func() bool {
			for _, st := range m.Status() {
				if st.State == StateFailed && strings.Contains(st.Err.Error(), "had 2 partitions, now they have 3") {
					return true
				}
			}
			return false
		})
	})
}

// TestOnePartitionCountDiffersWhileRunning: only one of the inputs gets another partition.
func TestOnePartitionCountDiffersWhileRunning(t *testing.T) {
	inBubble(t, 2, 1, func(t *testing.T, b *bubble) {
		b.addPartitions(t, b.names().Inputs[events.Reads])
		b.of[0].allFail("has 2 partitions and topic", "has 3")
	})
}

// addPartitions adds a partition, and waits for as long as a client takes to look at the topics
// again.
func (b *bubble) addPartitions(t *testing.T, topics ...string) {
	t.Helper()
	if _, err := b.admin().CreatePartitions(context.Background(), 1, topics...); err != nil {
		t.Fatal(err)
	}
	time.Sleep(6 * time.Minute)
}

// TestStoreOfANewerFormat: one partition's store was written by a newer build. That partition
// stops, the other partitions continue, and the store stays unchanged.
func TestStoreOfANewerFormat(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 3)
	dir := t.TempDir()
	own := events.PartitionOf([]byte("general"), 3)
	m := s.start(s.config(dir)).ready(3)
	m.unread(s.join("general", "alice"), "alice", "general")
	m.stop()
	header := []byte("H")
	newer := []byte{projections.NewestFormat + 1, projections.FoldVersion}
	inStore := func(do func(*pebble.DB) error) {
		t.Helper()
		db, err := pebble.Open(StoreDir(dir, own), &pebble.Options{FormatMajorVersion: pebble.FormatNewest})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(do(db), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	inStore(func(db *pebble.DB) error { return db.Set(header, newer, pebble.Sync) })
	m = s.start(s.config(dir))
	m.failedWith(own, 3, "written by a newer version", "run the newer version")
	m.stop()
	inStore(func(db *pebble.DB) error {
		value, closer, err := db.Get(header)
		if err != nil {
			return err
		}
		defer closer.Close()
		if string(value) != string(newer) {
			t.Errorf("the header is %x after the refusal, it was %x", value, newer)
		}
		return nil
	})
}

// TestStoreOfAnotherClusterOrTopic: a member of another cluster, or of other topics, gets an
// existing data directory.
func TestStoreOfAnotherClusterOrTopic(t *testing.T) {
	k := testkit.FakeKafka(t)
	s := newSite(t, k.ListenAddrs(), 2)
	dir := t.TempDir()
	m := s.start(s.config(dir)).ready(2)
	m.unread(s.join("general", "alice"), "alice", "general")
	for n := range int32(2) {
		until(t, "both have stores", func() bool { _, err := os.Stat(StoreDir(dir, n)); return err == nil })
	}
	m.stop()
	// A store that was never folded into has no header that names its owner.
	own := events.PartitionOf([]byte("general"), 2)
	for _, other := range []struct {
		site *site
		want string
	}{
		{newSite(t, testkit.FakeKafka(t, kfake.ClusterID("another")).ListenAddrs(), 2), "belongs to Kafka cluster"},
		{newSite(t, k.ListenAddrs(), 2), "was folded from topic"},
	} {
		moved := t.TempDir()
		if err := os.CopyFS(moved, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		m := other.site.start(other.site.config(moved))
		until(t, "its partition is refused", func() bool { _, err := m.Live(own); return err != nil && strings.Contains(err.Error(), other.want) })
		if n := other.site.outputs().count; n != 0 {
			t.Errorf("%d records were published from a store that is refused", n)
		}
		m.stop()
	}
}
