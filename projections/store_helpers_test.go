package projections_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// open opens a partition in a file system of its own.
func open(t rapid.TB, fs vfs.FS, s projections.Settings) *projections.Partition {
	t.Helper()
	return openWith(t, s, projections.Options{FS: fs, MemTableSize: 256 << 10})
}

// openWith opens a partition.
func openWith(t rapid.TB, s projections.Settings, o projections.Options) *projections.Partition {
	t.Helper()
	id := projections.Identity{ClusterID: "golden", Partition: 0, Partitions: 1, Settings: s}
	for in, name := range events.InputTopics {
		id.Topics[in] = projections.TopicIdentity{Name: name, ID: [16]byte{byte(in + 1)}}
	}
	p, err := projections.Open("store", id, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fold(p *projections.Partition, order []script.Record) {
	for i := range order {
		order[i].Fold(p)
	}
}

// cut drains, cuts and applies. After it the store has everything.
func cut(t rapid.TB, p *projections.Partition) {
	t.Helper()
	var d projections.Deltas
	p.Drain(&d, true)
	c, err := p.Cut()
	if err == nil {
		err = c.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dump returns all records of a store, and its digest, as text.
func dump(t rapid.TB, p *projections.Partition) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Dump(func(key, value []byte) error {
		_, err := fmt.Fprintf(&b, "%q = %x\n", key, value)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "digest %x", p.Digest())
	return b.String()
}

func orderText(order []script.Record) string {
	var b strings.Builder
	for i := range order {
		fmt.Fprintf(&b, "  %s/%d  %s\n", order[i].Input, order[i].Offset, script.Format(&order[i]))
	}
	return b.String()
}
