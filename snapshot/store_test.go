package snapshot_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// identity returns the identity of partition 3 of 4.
func identity() projections.Identity {
	id := projections.Identity{ClusterID: "test", Partition: 3, Partitions: 4, Settings: projections.DefaultSettings()}
	for i, name := range events.InputTopics {
		id.Topics[i] = projections.TopicIdentity{Name: name, ID: [16]byte{byte(i + 1)}}
	}
	return id
}

// folder folds a synthetic log of chat.messages: offset o posts a message to channel o % channels.
type folder struct {
	p        *projections.Partition
	channels int
}

func openStore(t testing.TB, dir string, fs vfs.FS) *folder {
	t.Helper()
	p, err := projections.Open(dir, identity(), projections.Options{FS: fs, MemTableSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return &folder{p: p, channels: 50}
}

// to folds the synthetic log up to an offset and writes the store.
func (f *folder) to(t testing.TB, end int64) {
	t.Helper()
	f.p.Lock()
	for o := f.p.Position()[0]; o < end; o++ {
		const base = 1_700_000_000_000
		m := events.Message{Kind: events.KindMessagePosted, ChannelID: fmt.Appendf(nil, "channel-%d", int(o)%f.channels),
			OccurredAt: base + o, MessageID: fmt.Appendf(nil, "m%d", o), SenderID: fmt.Appendf(nil, "user-%d", o%7),
			Preview: fmt.Appendf(nil, "message number %d", o)}
		if o < int64(f.channels) {
			m = events.Message{Kind: events.KindMembersJoined, ChannelID: m.ChannelID, OccurredAt: base + o, IDs: [][]byte{
				[]byte("user-1"), []byte("user-2"), []byte("user-3")}}
		}
		f.p.FoldMessage(&m, o, base+o)
	}
	f.p.Unlock()
	var d projections.Deltas
	f.p.Drain(&d, true)
	c, err := f.p.Cut()
	if err == nil {
		err = c.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (f *folder) close(t testing.TB) {
	t.Helper()
	if err := f.p.Close(); err != nil {
		t.Fatal(err)
	}
}

// create takes a snapshot that must succeed.
func create(t testing.TB, r *snapshot.Repository, f *folder, scratch string) (*snapshot.Manifest, snapshot.Stats) {
	t.Helper()
	m, s, err := r.Create(t.Context(), f.p, scratch, snapshot.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

// digestAt returns the digest of a store at an offset of the synthetic log, folded without
// snapshots.
func digestAt(t testing.TB, end int64) string {
	t.Helper()
	f := openStore(t, "store", vfs.NewMem())
	defer f.close(t)
	f.to(t, end)
	return fmt.Sprintf("%x", f.p.Digest())
}
