package snapshot

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
)

// Probe writes an object, reads it and removes it, as a snapshot would need to.
func (r *Repository) Probe(ctx context.Context) (err error) {
	key, want := "probe-"+rand.Text(), []byte("written by tidemark config check\n")
	if err := r.bucket.Put(ctx, key, bytes.NewReader(want), int64(len(want))); err != nil {
		return fmt.Errorf("snapshots: writing to %s: %w", r.bucket, err)
	}
	defer func() {
		if bad := r.bucket.Delete(ctx, key); bad != nil {
			err = errors.Join(err, fmt.Errorf("snapshots: removing %s/%s: %w", r.bucket, key, bad))
		}
	}()
	body, _, err := r.bucket.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("snapshots: reading %s/%s: %w", r.bucket, key, err)
	}
	got, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err == nil && !bytes.Equal(got, want) {
		err = errors.New("other bytes than were written")
	}
	if err != nil {
		return fmt.Errorf("snapshots: reading %s/%s: %w", r.bucket, key, err)
	}
	return nil
}
