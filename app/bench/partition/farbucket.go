package partition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/snapshot"
)

// farBucket is a bucket that is read as over a network: a request takes a while until it is
// answered, and an answer comes at a limited rate.
type farBucket struct{ snapshot.Bucket }

const (
	farDelay = 30 * time.Millisecond
	farRate  = 25e6 // bytes a second, of one request
)

func (b farBucket) Get(ctx context.Context, key string) (io.ReadCloser, snapshot.Object, error) {
	time.Sleep(farDelay)
	body, o, err := b.Bucket.Get(ctx, key)
	if err != nil {
		return nil, o, err
	}
	return &farBody{ReadCloser: body, began: time.Now()}, o, nil
}

type farBody struct {
	io.ReadCloser
	began time.Time
	n     int
}

func (b *farBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += n
	time.Sleep(time.Until(b.began.Add(time.Duration(float64(b.n) / farRate * float64(time.Second)))))
	return n, err
}

// farRestores is how many restores are measured together.
const farRestores = 4

// restores downloads and checks a snapshot of a far bucket farRestores times, as if it were those of
// several partitions, and returns how long it takes one after the other and side by side.
func restores(ctx context.Context, b snapshot.Bucket, m *snapshot.Manifest, dir string) (alone, beside time.Duration, err error) {
	repo := snapshot.New(farBucket{b}, snapshot.Options{})
	run := func(atOnce int) (time.Duration, error) {
		began := time.Now()
		g, ctx := guard.WithContext(ctx)
		g.SetLimit(atOnce)
		for i := range farRestores {
			g.Go("a restore", func() error {
				at := filepath.Join(dir, fmt.Sprint("far-", i))
				return errors.Join(repo.Download(ctx, m, at, nil), os.RemoveAll(at))
			})
		}
		err := g.Wait()
		return time.Since(began), err
	}
	if alone, err = run(1); err != nil {
		return 0, 0, err
	}
	beside, err = run(farRestores)
	return alone, beside, err
}
