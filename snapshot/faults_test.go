package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// memory is a bucket in memory with its own clock. It calls before ahead of each operation; an
// error of before fails the operation, and errLost fails it after it was done.
type memory struct {
	before func(op, key string) error
	now    func() time.Time

	mu      sync.Mutex
	objects map[string]memoryObject
	writes  int
}

type memoryObject struct {
	data    []byte
	at      time.Time
	version string
}

var (
	errDown = errors.New("planted: the bucket is down")
	errLost = errors.New("planted: the answer is lost")
)

func newMemory() *memory {
	return &memory{before: func(string, string) error { return nil }, now: time.Now, objects: map[string]memoryObject{}}
}

func (m *memory) String() string { return "memory" }

// do runs one operation.
func (m *memory) do(op, key string, f func() error) error {
	err := m.before(op, key)
	if err != nil && !errors.Is(err, errLost) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(f(), err)
}

func (m *memory) put(key string, data []byte) error {
	m.writes++
	m.objects[key] = memoryObject{data, m.now(), fmt.Sprint("v", m.writes)}
	return nil
}

func (m *memory) Put(_ context.Context, key string, r io.ReadSeeker, size int64) error {
	data, err := io.ReadAll(r)
	if err != nil || int64(len(data)) != size {
		return fmt.Errorf("%d bytes instead of %d: %w", len(data), size, err)
	}
	return m.do("put", key, func() error { return m.put(key, data) })
}

func (m *memory) PutIf(_ context.Context, key string, data []byte, version string) error {
	return m.do("putif", key, func() error {
		if m.objects[key].version != version {
			return snapshot.ErrConflict
		}
		return m.put(key, bytes.Clone(data))
	})
}

func (m *memory) Get(_ context.Context, key string) (rc io.ReadCloser, o snapshot.Object, err error) {
	err = m.do("get", key, func() error {
		found, ok := m.objects[key]
		if !ok {
			return snapshot.ErrNotExist
		}
		rc = io.NopCloser(bytes.NewReader(found.data))
		o = snapshot.Object{Key: key, Size: int64(len(found.data)), Modified: found.at, Version: found.version}
		return nil
	})
	return rc, o, err
}

func (m *memory) List(_ context.Context, prefix string, fn func(snapshot.Object) error) error {
	var list []snapshot.Object
	if err := m.do("list", prefix, func() error {
		for key, o := range m.objects {
			if strings.HasPrefix(key, prefix) {
				list = append(list, snapshot.Object{Key: key, Size: int64(len(o.data)), Modified: o.at, Version: o.version})
			}
		}
		return nil
	}); err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b snapshot.Object) int { return strings.Compare(a.Key, b.Key) }) // so that a run is a function of its seed
	for _, o := range list {
		if err := fn(o); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	return m.do("delete", key, func() error { delete(m.objects, key); return nil })
}

// clone returns a bucket with the same content and without faults.
func (m *memory) clone() *memory {
	c := newMemory()
	for k, o := range m.objects {
		c.objects[k] = o
	}
	c.writes = m.writes
	return c
}

// failAt fails the n-th operation with err.
func (m *memory) failAt(n int, err error) (hit *bool) {
	hit = new(bool)
	var mu sync.Mutex
	m.before = func(string, string) error {
		mu.Lock()
		defer mu.Unlock()
		n--
		if n == -1 {
			*hit = true
			return err
		}
		return nil
	}
	return hit
}

// frozen is a store of the synthetic log at an offset, which can be copied any number of times.
type frozen struct {
	fs  vfs.FS
	dir string
}

func (f frozen) Checkpoint(dir string) error {
	_, err := vfs.Clone(f.fs, f.fs, f.dir, dir)
	return err
}

// freeze folds the synthetic log and keeps the store at each of the offsets.
func freeze(t testing.TB, fs vfs.FS, offsets ...int64) map[int64]frozen {
	t.Helper()
	f := openStore(t, "store", fs)
	defer f.close(t)
	all := map[int64]frozen{}
	for _, o := range offsets {
		f.to(t, o)
		dir := fmt.Sprint("frozen-", o)
		if err := f.p.Checkpoint(dir); err != nil {
			t.Fatal(err)
		}
		all[o] = frozen{fs, dir}
	}
	return all
}

// restorable returns the offset of the newest snapshot that restores, 0 if there is none. It fails
// the test if the restored store is wrong.
func restorable(t testing.TB, b snapshot.Bucket) int64 {
	t.Helper()
	fs := vfs.NewMem()
	r := snapshot.New(b, snapshot.Options{FS: fs})
	list, err := r.List(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		err := e.Err
		if err == nil {
			err = r.Download(t.Context(), e.Manifest, "back", nil)
		}
		if err != nil {
			t.Log(err)
			continue
		}
		g := openStore(t, "back", fs)
		defer g.close(t)
		at := g.p.Position()[0]
		if got := fmt.Sprintf("%x", g.p.Digest()); g.p.Position() != (projections.Position{at}) || got != digests(t, at) {
			t.Fatalf("what was restored is at %v with digest %s, not %s", g.p.Position(), got, digests(t, at))
		}
		return at
	}
	return 0
}

var knownDigests sync.Map

// digests is digestAt with a cache.
func digests(t testing.TB, at int64) string {
	if d, ok := knownDigests.Load(at); ok {
		return d.(string)
	}
	d := digestAt(t, at)
	knownDigests.Store(at, d)
	return d
}
