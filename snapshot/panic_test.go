package snapshot_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/snapshot"
)

// panicky is a bucket whose files panic when they are read.
type panicky struct {
	*memory
	on bool
}

func (p *panicky) touch(key string) {
	if p.on && strings.Contains(key, "/files/") {
		panic("planted")
	}
}

func (p *panicky) Put(ctx context.Context, key string, r io.ReadSeeker, size int64) error {
	p.touch(key)
	return p.memory.Put(ctx, key, r, size)
}

func (p *panicky) Get(ctx context.Context, key string) (io.ReadCloser, snapshot.Object, error) {
	p.touch(key)
	return p.memory.Get(ctx, key)
}

// TestPanicIsAnError: files are downloaded and uploaded in goroutines, where a panic would end the
// process.
func TestPanicIsAnError(t *testing.T) {
	fs := vfs.NewMem()
	b := &panicky{memory: newMemory()}
	r := snapshot.New(b, snapshot.Options{FS: fs})
	f := openStore(t, "store", fs)
	defer f.close(t)
	f.to(t, 200)
	planted := func(what string, err error) {
		t.Helper()
		p := guard.Of(err)
		if p == nil || p.Value != "planted" || !strings.Contains(p.Error(), what) || !strings.Contains(string(p.Stack), "panic_test.go") {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.on = true
	_, _, err := r.Create(t.Context(), f.p, "scratch", snapshot.CreateOptions{})
	planted("uploading ", err)
	b.on = false
	m, _ := create(t, r, f, "scratch")
	b.on = true
	planted("bringing ", r.Download(t.Context(), m, "restored", nil))
	b.on = false
	if err := r.Download(t.Context(), m, "restored", nil); err != nil {
		t.Errorf("without panics: %v", err)
	}
}
