package store

import (
	"errors"
	"testing"

	"github.com/tidemark/tidemark/internal/guard"
)

// closed counts the calls of Close.
type closed struct{ n chan struct{} }

func (c closed) Close() error {
	c.n <- struct{}{}
	return nil
}

// TestWhole: a database whose loading succeeds stays open; one whose loading fails or panics is
// closed, and nothing more is written to it.
func TestWhole(t *testing.T) {
	for name, read := range map[string]func() error{
		"succeeds": func() error { return nil },
		"fails":    func() error { return errDisk },
		"panics":   func() error { panic("a bug") },
	} {
		fuse, _, reported := newFuse(t, nil)
		db := closed{make(chan struct{}, 2)}
		err := fuse.Whole(db, read)
		switch name {
		case "succeeds":
			if err != nil || len(db.n) != 0 || fuse.Broken() != nil {
				t.Errorf("%s: %v, closed %d times, broken by %v", name, err, len(db.n), fuse.Broken())
			}
			continue
		case "fails":
			if !errors.Is(err, errDisk) || !errors.Is(fuse.Broken(), errDisk) {
				t.Errorf("%s: %v, broken by %v", name, err, fuse.Broken())
			}
		case "panics":
			if guard.Of(err) == nil || fuse.Broken() == nil {
				t.Errorf("%s: %v, broken by %v", name, err, fuse.Broken())
			}
		}
		<-db.n
		if len(db.n) != 0 || len(*reported) != 1 {
			t.Errorf("%s: closed again, reported %v", name, *reported)
		}
	}
}

// stuck does not close until the test releases it, like a database in which a panic left a lock
// held.
type stuck struct{ letGo chan struct{} }

func (s stuck) Close() error {
	<-s.letGo
	return nil
}

// TestAbandonDoesNotWaitForEver: other code can open the directory of a database that does not
// close.
func TestAbandonDoesNotWaitForEver(t *testing.T) {
	fuse, disk, _ := newFuse(t, nil)
	if _, err := fuse.Lock("LOCK"); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Lock("LOCK"); err == nil {
		t.Fatal("the lock holds nobody off")
	}
	db := stuck{make(chan struct{})}
	defer close(db.letGo)
	fuse.Abandon(db, errDisk)
	lock, err := disk.Lock("LOCK")
	if err != nil {
		t.Fatalf("afterwards: %v", err)
	}
	_ = lock.Close()
	if !errors.Is(fuse.Broken(), errDisk) {
		t.Errorf("broken by %v", fuse.Broken())
	}
}
