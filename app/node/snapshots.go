package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark/tidemark/app/ui"
	"github.com/tidemark/tidemark/snapshot"
)

const (
	// snapshotsFresh is how long a list of snapshots is reused.
	snapshotsFresh = 15 * time.Second
	// snapshotsWait bounds the wait for the bucket.
	snapshotsWait = 5 * time.Second
)

// snapshotLister lists the newest snapshot of each partition for the page. Pages poll every second,
// and a bucket may be far away and cost money per call. So an answer is reused for a while, and
// only one request at a time goes to the bucket.
type snapshotLister struct {
	repo *snapshot.Repository
	now  func() time.Time

	asking sync.Mutex // held during a request to the bucket
	mu     sync.Mutex // of what follows
	at     time.Time
	list   []ui.Snapshot
	err    error
}

// get returns the newest snapshots, at most snapshotsFresh old unless another request is in
// progress, and the reason why some could not be read.
func (l *snapshotLister) get(ctx context.Context) ([]ui.Snapshot, error) {
	if l.asking.TryLock() {
		defer l.asking.Unlock()
		if at, _, _ := l.latest(); l.now().Sub(at) >= snapshotsFresh {
			list, err := l.read(ctx)
			if ctx.Err() == nil { // otherwise the caller is gone
				l.mu.Lock()
				l.at, l.list, l.err = l.now(), list, err
				l.mu.Unlock()
			}
		}
	}
	_, list, err := l.latest()
	return list, err
}

func (l *snapshotLister) latest() (time.Time, []ui.Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at, l.list, l.err
}

// read queries the bucket. An unreadable partition hides no other.
func (l *snapshotLister) read(ctx context.Context) ([]ui.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotsWait)
	defer cancel()
	list := []ui.Snapshot{}
	partitions, err := l.repo.Partitions(ctx)
	if err != nil {
		return list, fmt.Errorf("the snapshots in %s could not be listed: %w", l.repo, err)
	}
	var errs []error
	for _, n := range partitions {
		entries, err := l.repo.List(ctx, n)
		if err != nil {
			errs = append(errs, fmt.Errorf("the snapshots of partition %d: %w", n, err))
			continue
		}
		for _, e := range entries { // newest first, unusable ones last
			if e.Err != nil {
				errs = append(errs, e.Err)
			}
		}
		if len(entries) > 0 && entries[0].Err == nil {
			m := entries[0].Manifest
			list = append(list, ui.Snapshot{Partition: n, At: m.WrittenAt, Position: m.Position(), Digest: m.Digest, Bytes: m.Bytes(), Count: len(entries)})
		}
	}
	return list, errors.Join(errs...)
}
