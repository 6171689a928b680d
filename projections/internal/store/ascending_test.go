package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// TestAscending compares an Ascending with searches for each record, over several levels, deletions and
// keys outside of its bounds. Keys mostly ascend.
func TestAscending(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := &pebble.Options{FS: vfs.NewMem(), Logger: &Fuse{}}
		for i := range o.Levels {
			o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		}
		db, err := pebble.Open("", o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		key := func(label string) []byte {
			return binary.BigEndian.AppendUint16([]byte{rapid.ByteRange(1, 3).Draw(t, label)}, rapid.Uint16Range(0, 60).Draw(t, label))
		}
		for i := range rapid.IntRange(0, 80).Draw(t, "writes") {
			k := key("key")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				err = db.Flush()
			case 1, 2:
				err = db.Delete(k, nil)
			default:
				err = db.Set(k, fmt.Append(nil, i), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		a, err := NewAscending(db, []byte{2}, []byte{3}, rapid.Bool().Draw(t, "sparse"))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Set([]byte{2, 0, 7}, []byte("later"), nil); err != nil { // not seen
			t.Fatal(err)
		}
		seen := db.NewSnapshot()
		defer func() { _ = seen.Close() }()
		for at := uint16(0); at < 60; at += rapid.Uint16Range(1, 9).Draw(t, "step") {
			if rapid.IntRange(0, 9).Draw(t, "back") == 0 {
				at -= min(at, 5)
			}
			k := binary.BigEndian.AppendUint16([]byte{2}, at)
			if at == 7 {
				continue
			}
			want, closer, err := seen.Get(k)
			if err != nil && !errors.Is(err, pebble.ErrNotFound) {
				t.Fatal(err)
			}
			got, ok, failed := a.Get(k)
			if failed != nil || ok != (err == nil) || string(got) != string(want) {
				t.Fatalf("record %v: %q, %v, %v, and a search finds %q, %v", k, got, ok, failed, want, err)
			}
			if closer != nil {
				_ = closer.Close()
			}
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
