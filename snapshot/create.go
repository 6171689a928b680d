package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark/tidemark/projections"
)

// Source is a store that can be copied: a *projections.Partition that is open, or a
// *projections.Stopped.
type Source interface {
	// Checkpoint creates dir, which must not exist, as a copy of the store at its last cut.
	Checkpoint(dir string) error
}

// Stats are the sizes and the upload of a snapshot.
type Stats struct {
	Files, Bytes                 int64 // of the snapshot
	UploadedFiles, UploadedBytes int64 // what the bucket did not have
	Whole                        bool  // all records were read, not only those of new tables
	Checkpoint, Check, Upload    time.Duration
}

// CreateOptions set how to take a snapshot. The zero value fits regular snapshots.
type CreateOptions struct {
	// Full checks all records and uploads everything again, which repairs files that are damaged in
	// the bucket.
	Full bool
	// MaxUpload is how many bytes may be uploaded; 0: any number.
	MaxUpload int64
	// Report gets the progress; it may be nil.
	Report Report
}

// Errors of Create that occur in normal operation.
var (
	// ErrDominated means that a snapshot was refused because the current one is not older: another
	// owner has written it.
	ErrDominated = errors.New("the snapshot is refused: its position does not dominate that of the current one")
	// ErrUnchanged means that the current snapshot already has this position.
	ErrUnchanged = errors.New("nothing was folded since the current snapshot")
	// ErrTooLarge means that more would have to be uploaded than CreateOptions allow.
	ErrTooLarge = errors.New("the snapshot would upload more than it may")
)

// maxTries limits how often a snapshot starts again because another process wrote one that it
// dominates.
const maxTries = 4

// Create takes a snapshot of src and makes it the current one of its partition. Create makes the
// directory scratch for the checkpoint and removes it again; it must be on the file system of the
// store. Create checks the checkpoint before it uploads anything, so a damaged store does not
// become a snapshot: all records at first, with CreateOptions.Full and every Options.CheckEvery,
// otherwise the tables that are new (check.go). If the error is ErrUnchanged the manifest is the
// current one. A store in which nothing was ever folded is refused with projections.ErrEmpty.
func (r *Repository) Create(ctx context.Context, src Source, scratch string, o CreateOptions) (m *Manifest, s Stats, err error) {
	began := r.o.Now()
	if err := r.o.FS.RemoveAll(scratch); err != nil {
		return nil, s, fmt.Errorf("snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, r.o.FS.RemoveAll(scratch)) }()
	r.meter(o.Report, PhaseCheckpoint, 0)
	if err := src.Checkpoint(scratch); err != nil {
		return nil, s, err
	}
	checked := r.o.Now()
	s.Checkpoint = checked.Sub(began)
	m, s.Whole, err = r.describe(scratch, o)
	if err != nil {
		return nil, s, err
	}
	s.Check = r.o.Now().Sub(checked)
	s.Files, s.Bytes = int64(len(m.Files)), m.Bytes()
	for range maxTries {
		err = r.publish(ctx, m, scratch, began, o, &s)
		if !errors.Is(err, ErrConflict) {
			break
		}
	}
	s.Upload = r.o.Now().Sub(began) - s.Checkpoint - s.Check
	if s.Whole && (err == nil || errors.Is(err, ErrUnchanged)) {
		r.checked(m, scratch, checked)
	}
	if err != nil && !errors.Is(err, ErrUnchanged) {
		return nil, s, err
	}
	return m, s, err
}

// publish uploads the files that the bucket lacks and then replaces the current manifest.
// ErrConflict means that another process has replaced it meanwhile.
func (r *Repository) publish(ctx context.Context, m *Manifest, dir string, began time.Time, o CreateOptions, s *Stats) error {
	list, err := r.List(ctx, m.Partition)
	if err != nil {
		return err
	}
	base, version, err := r.base(list, m, o.Full)
	if err != nil {
		return err
	}
	if err := r.upload(ctx, m, base, dir, o, s); err != nil {
		return err
	}
	if base != nil { // a creator that was killed after it wrote the current manifest has left no copy
		if err := r.copyToHistory(ctx, base); err != nil {
			return err
		}
	}
	if took := r.o.Now().Sub(began); took > r.o.Grace/4 {
		return fmt.Errorf("snapshot: it took %s to upload, more than a quarter of the grace period of %s after which files without a "+
			"manifest are pruned: raise the grace period", took.Round(time.Second), r.o.Grace)
	}
	data, err := m.encode()
	if err != nil {
		return err
	}
	key := partitionPrefix(m.Partition) + currentName
	if err := r.bucket.PutIf(ctx, key, data, version); err != nil {
		// This call may nevertheless have written it, because the client repeats a request whose
		// answer was lost.
		now, _, rerr := r.read(ctx, key)
		if rerr != nil || string(now) != string(data) {
			return err
		}
	}
	return r.copyToHistory(ctx, m)
}

// base returns the snapshot that m replaces (nil if there is none) and the version of the manifest
// to replace. It enforces the rules of docs/formats.md. With full it also replaces a snapshot of
// the same position.
func (r *Repository) base(list []Entry, m *Manifest, full bool) (base *Manifest, version string, err error) {
	for i := range list {
		e := &list[i]
		if e.Current {
			version = e.version
		}
		var bad *ManifestError
		if errors.As(e.Err, &bad) {
			if bad.Newer {
				return nil, "", e.Err
			}
			r.o.Logger.Error("a manifest is damaged; it is ignored", "err", e.Err)
			continue
		}
		if err := sameSource(e, m); err != nil {
			return nil, "", err
		}
		old, new := e.Manifest.Position(), m.Position()
		switch {
		case old == new && e.Manifest.Digest != m.Digest && e.Manifest.Store == m.Store && e.Manifest.Fold == m.Fold && e.Manifest.Settings == m.Settings:
			return nil, "", fmt.Errorf("snapshot: the store of partition %d at position %v has the digest %s, the snapshot of the same "+
				"position %s: one of them is wrong; `tidemark verify` says which", m.Partition, new, m.Digest, e.Manifest.Digest)
		case old == new && e.Current && e.Manifest.Digest == m.Digest && !full:
			m.Files = e.Manifest.Files
			return nil, "", fmt.Errorf("partition %d at position %v: %w", m.Partition, new, ErrUnchanged)
		case !new.Dominates(old):
			return nil, "", fmt.Errorf("partition %d at position %v, the current one at %v: %w", m.Partition, new, old, ErrDominated)
		}
		if e.Current {
			base = e.Manifest
		}
	}
	return base, version, nil
}

// sameSource refuses to replace a snapshot of another cluster, topic or partition. Settings and
// versions may differ: changing them requires a rebuild of the store.
func sameSource(e *Entry, m *Manifest) error {
	old, new := e.Manifest.Identity(), m.Identity()
	old.Settings = new.Settings
	if err := projections.CheckIdentity(e.Key, projections.FormatVersion, projections.FoldVersion, old, new); err != nil {
		return fmt.Errorf("the bucket has snapshots of another deployment: %w; or use another --snapshots URL, or remove what is below %s there", err,
			partitionPrefix(m.Partition))
	}
	return nil
}

// copyToHistory keeps a manifest that is or was current under its own name.
func (r *Repository) copyToHistory(ctx context.Context, m *Manifest) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	key := partitionPrefix(m.Partition) + historyKey(m.Position())
	if now, _, err := r.read(ctx, key); err == nil && string(now) == string(data) {
		return nil
	}
	return r.bucket.Put(ctx, key, newBytes(data), int64(len(data)))
}
