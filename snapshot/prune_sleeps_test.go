package snapshot_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/snapshot"
)

// TestPruneThatSleepsRemovesNothingNew: a prune has an unnamed old file on its list and pauses
// before removing it. Another prune removes the file, and a snapshot uploads its content again,
// which the current manifest then names. Then the first prune resumes.
func TestPruneThatSleepsRemovesNothingNew(t *testing.T) {
	fs := vfs.NewMem()
	stores := freeze(t, fs, 100)
	b := newMemory()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b.now = func() time.Time { return now }
	repository := func() *snapshot.Repository {
		return snapshot.New(b, snapshot.Options{FS: fs, Keep: 1, Grace: time.Hour, Now: b.now})
	}
	take := func() {
		t.Helper()
		now = now.Add(time.Second)
		if _, _, err := repository().Create(t.Context(), stores[100], "scratch", snapshot.CreateOptions{Full: true}); err != nil {
			t.Fatal(err)
		}
	}
	take()
	take() // so that no manifest names the files of the first one
	now = now.Add(2 * time.Hour)

	asleep := false
	b.before = func(op, _ string) error {
		if op != "delete" || asleep {
			return nil
		}
		asleep = true
		if p, err := repository().Prune(t.Context(), 3, nil, false); err != nil || p.Files == 0 {
			t.Fatalf("the other prune removes %d files: %v", p.Files, err)
		}
		take()
		return nil
	}
	if _, err := repository().Prune(t.Context(), 3, nil, false); err != nil || !asleep {
		t.Fatalf("it never came to remove anything: %v", err)
	}
	list, err := repository().List(t.Context(), 3)
	if err != nil || len(list) == 0 || !list[0].Current {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, f := range list[0].Manifest.Files {
		if _, there := b.objects["partition-3/"+f.Object]; !there {
			t.Errorf("the current snapshot names %s, which was removed", f.Object)
		}
	}
	if at := restorable(t, b); at != 100 {
		t.Errorf("offset %d is restored", at)
	}
}
