package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/projections"
)

// Options configure a Repository. The zero value works.
type Options struct {
	// FS is the file system of stores and checkpoints; nil: the operating system's.
	FS vfs.FS
	// Keep is how many snapshots of a partition prune leaves, the current one included; 3 by
	// default.
	Keep int
	// Grace is how old an object must be, at least, before prune removes it; 24 h by default. A
	// snapshot gives up if its upload takes longer than a quarter of it, so that none of its files
	// can have been pruned before it is complete.
	Grace time.Duration
	// Parallel is how many files of a snapshot are transferred at the same time; 4 by default.
	Parallel int
	// Restores is how many snapshots are downloaded and checked at the same time; 8 by default. A
	// further Download waits. Each has Parallel requests in flight, and its check opens the store
	// with a block cache of its own.
	Restores int
	// CheckEvery is how often, at least, Create reads a whole store and compares its digest; in
	// between it reads only what is new. 24 h by default.
	CheckEvery time.Duration
	// Logger logs damaged snapshots; nil: nothing is logged.
	Logger *slog.Logger
	// Now is the clock; nil: time.Now. It is compared with the times of the object store.
	Now func() time.Time
}

// Defaults of Options.
const (
	DefaultKeep       = 3
	DefaultRestores   = 8
	DefaultGrace      = 24 * time.Hour
	DefaultCheckEvery = 24 * time.Hour
)

// Repository is the snapshots in a bucket. It may be used by several goroutines.
type Repository struct {
	bucket   Bucket
	o        Options
	restores chan struct{} // holds a value for each Download that has begun

	mu      sync.Mutex
	hashes  map[string]hashed   // of tables that were checked and hashed before, by path within the checkpoint
	whole   map[string]check    // the last whole check that became a snapshot, by directory of the checkpoint
	suspect map[string]struct{} // keys of files that were found damaged: they are uploaded again
}

// New makes the repository of a bucket.
func New(b Bucket, o Options) *Repository {
	if o.FS == nil {
		o.FS = private.FS
	}
	if o.Keep < 1 {
		o.Keep = DefaultKeep
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.Parallel < 1 {
		o.Parallel = 4
	}
	if o.Restores < 1 {
		o.Restores = DefaultRestores
	}
	if o.CheckEvery <= 0 {
		o.CheckEvery = DefaultCheckEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Repository{bucket: b, o: o, restores: make(chan struct{}, o.Restores),
		hashes: map[string]hashed{}, whole: map[string]check{}, suspect: map[string]struct{}{}}
}

// String returns where the snapshots are, without secrets.
func (r *Repository) String() string { return r.bucket.String() }

// Entry is a snapshot, possibly a damaged one.
type Entry struct {
	Partition int32
	Key       string // of its manifest
	Current   bool
	Manifest  *Manifest // nil if Err is set
	Err       error     // why the manifest cannot be used

	version  string
	modified time.Time
	data     []byte
}

// List returns the snapshots of a partition, the newest first, and after them the manifests that
// cannot be used. It lists the current one once, although the history has a copy of it.
func (r *Repository) List(ctx context.Context, partition int32) ([]Entry, error) {
	prefix := partitionPrefix(partition)
	keys := []string{prefix + currentName}
	if err := r.bucket.List(ctx, prefix+historyPrefix, func(o Object) error {
		if _, ok := nameOf(o.Key[len(prefix):]); ok {
			keys = append(keys, o.Key)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var list []Entry
	for _, key := range keys {
		e, err := r.entry(ctx, partition, key)
		if errors.Is(err, ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, compareEntries)
	return slices.CompactFunc(list, func(a, b Entry) bool {
		return a.Err == nil && b.Err == nil && a.Manifest.Position() == b.Manifest.Position()
	}), nil
}

// compareEntries orders entries: the newest first, of two with the same position the current one
// first, and entries without a manifest last.
func compareEntries(a, b Entry) int {
	switch {
	case a.Err != nil && b.Err != nil:
		return 0
	case a.Err != nil:
		return 1
	case b.Err != nil:
		return -1
	}
	av, bv := a.Manifest.Position(), b.Manifest.Position()
	switch {
	case av == bv && a.Current != b.Current:
		if a.Current {
			return -1
		}
		return 1
	case newer(av, bv):
		return -1
	case newer(bv, av):
		return 1
	}
	return 0
}

// newer orders positions. For the snapshots of one partition this order equals dominance.
func newer(a, b projections.Position) bool {
	var sa, sb int64
	for i := range a {
		sa += a[i]
		sb += b[i]
	}
	if sa != sb {
		return sa > sb
	}
	return slices.Compare(a[:], b[:]) > 0
}

// entry reads a manifest. If it cannot be used, the entry has an Err.
func (r *Repository) entry(ctx context.Context, partition int32, key string) (Entry, error) {
	e := Entry{Partition: partition, Key: key, Current: key == partitionPrefix(partition)+currentName}
	data, o, err := r.read(ctx, key)
	if err != nil {
		return e, err
	}
	e.version, e.modified, e.data = o.Version, o.Modified, data
	where := r.bucket.String() + "/" + key
	e.Manifest, e.Err = decodeManifest(where, data)
	if e.Err == nil && e.Manifest.Partition != partition {
		e.Err = &ManifestError{Where: where, Reason: fmt.Sprintf("it is of partition %d", e.Manifest.Partition)}
	}
	if v, ok := nameOf(key[len(partitionPrefix(partition)):]); e.Err == nil && ok && v != e.Manifest.Position() {
		e.Err = &ManifestError{Where: where, Reason: fmt.Sprintf("it is of position %v", e.Manifest.Position())}
	}
	if e.Err != nil {
		e.Manifest = nil
	}
	return e, nil
}

func (r *Repository) read(ctx context.Context, key string) ([]byte, Object, error) {
	body, o, err := r.bucket.Get(ctx, key)
	if err != nil {
		return nil, o, err
	}
	data, err := io.ReadAll(io.LimitReader(body, maxManifest+1))
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, o, fmt.Errorf("snapshots: reading %s/%s: %w", r.bucket, key, err)
	}
	return data, o, nil
}

// Partitions returns the partitions that have objects in the bucket, in order.
func (r *Repository) Partitions(ctx context.Context) ([]int32, error) {
	found := map[int32]bool{}
	err := r.bucket.List(ctx, "partition-", func(o Object) error {
		if n, _, ok := partitionOf(o.Key); ok {
			found[n] = true
		}
		return nil
	})
	list := make([]int32, 0, len(found))
	for n := range found {
		list = append(list, n)
	}
	slices.Sort(list)
	return list, err
}
