package projections

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// TestMismatch: a store with another identity is refused. Each mismatch has its own kind and a
// sentence with the difference and the way out.
func TestMismatch(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Identity)
		kind    Mismatch
		message string
	}{
		{"cluster", func(id *Identity) { id.ClusterID = "other" }, MismatchCluster, `belongs to Kafka cluster "cluster"`},
		{"topic name", func(id *Identity) { id.Topics[1].Name = "reads2" }, MismatchTopicName, `folded from topic "chat.reads", not "reads2"`},
		{"topic recreated", func(id *Identity) { id.Topics[0].ID[3] = 9 }, MismatchTopicRecreated, "deleted and created again"},
		{"partition count", func(id *Identity) { id.Partitions = 6 }, MismatchPartitions, "had 4 partitions, now they have 6"},
		{"partition", func(id *Identity) { id.Partition = 2 }, MismatchPartition, "holds partition 1, not 2"},
		{"settings", func(id *Identity) { id.Settings.FanoutLimit = 0 }, MismatchSettings, "fanout-limit 50"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			p := mustOpen(t, fs, testIdentity())
			mustCut(t, p)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			id := testIdentity()
			c.change(&id)
			refused(t, fs, id, c.kind, c.message)
		})
	}
}

func refused(t *testing.T, fs vfs.FS, id Identity, kind Mismatch, message string) {
	t.Helper()
	_, err := Open("store", id, Options{FS: fs})
	var m *MismatchError
	if !errors.As(err, &m) || m.Kind != kind || !strings.Contains(err.Error(), message) || !strings.HasPrefix(err.Error(), "store store: ") {
		t.Fatalf("error %v, want kind %d saying %q", err, kind, message)
	}
}

// putHeader replaces the header of a store with other bytes.
func putHeader(t *testing.T, fs vfs.FS, header []byte) {
	t.Helper()
	db, err := pebble.Open("store", pebbleOptions("store", Options{FS: fs}))
	if err != nil {
		t.Fatal(err)
	}
	if header == nil {
		err = db.Delete([]byte{keys.Header}, pebble.Sync)
	} else {
		err = db.Set([]byte{keys.Header}, header, pebble.Sync)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestNewerFormat: a store of a newer version is refused, whatever the rest of its header.
func TestNewerFormat(t *testing.T) {
	for _, header := range [][]byte{{NewestFormat + 1, FoldVersion, 1, 2, 3}, {NewestFormat + 1, FoldVersion + 1}} {
		fs := vfs.NewMem()
		putHeader(t, fs, header)
		refused(t, fs, testIdentity(), MismatchNewerFormat, "newer version")
	}
}

// TestCorruptHeader: a corrupt header is never taken for an empty store.
func TestCorruptHeader(t *testing.T) {
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	newRandomLog(1).foldTo(p, 3, 0, func() bool { return true })
	mustCut(t, p)
	h := p.header(p.rules.Written.Digest)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	good := h.Append(nil)
	for _, c := range []struct {
		header  []byte
		message string
	}{
		{good[:len(good)-1], "header is corrupt"},
		{append(append([]byte(nil), good...), 0), "header is corrupt"},
		{nil, "records but no header"},
	} {
		putHeader(t, fs, c.header)
		if _, err := Open("store", testIdentity(), Options{FS: fs}); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("header of %d bytes: error %v, want one saying %q", len(c.header), err, c.message)
		}
	}
	putHeader(t, fs, good)
	p = mustOpen(t, fs, testIdentity())
	defer p.Close()
	if p.rules.Position() != h.Position {
		t.Fatalf("position %v, want %v", p.rules.Position(), h.Position)
	}
}

// TestCorruptRecord: a hot record that does not parse stops the store from opening, and the error
// names its key.
func TestCorruptRecord(t *testing.T) {
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	formatsLog(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"Cc\x00c", "Cc\x00p\x00\x00\x00\x00", "Cc\x00wbob", "Cc\x00gguest", "Cc\x00n\x00\x00", "Cc\x00?", "Cc"} {
		db, err := pebble.Open("store", pebbleOptions("store", Options{FS: fs}))
		if err != nil {
			t.Fatal(err)
		}
		old, closer, err := db.Get([]byte(key))
		var keep []byte
		if err == nil {
			keep = append(keep, old...)
			err = closer.Close()
		} else if errors.Is(err, pebble.ErrNotFound) {
			err = nil
		}
		err = errors.Join(err, db.Set([]byte(key), []byte{0xff, 0xff}, pebble.Sync), db.Close())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open("store", testIdentity(), Options{FS: fs}); err == nil || !strings.Contains(err.Error(), "corrupt") {
			t.Errorf("key %q: error %v", key, err)
		}
		db, err = pebble.Open("store", pebbleOptions("store", Options{FS: fs}))
		if err != nil {
			t.Fatal(err)
		}
		if keep == nil {
			err = db.Delete([]byte(key), pebble.Sync)
		} else {
			err = db.Set([]byte(key), keep, pebble.Sync)
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
