package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidemark/tidemark/projections"
)

// Pruned says what prune removed, or would remove.
type Pruned struct {
	Snapshots []string // names
	Files     int
	Bytes     int64
	Kept      int // snapshots that are left
}

// ErrNotCurrent says that prune was refused because somebody else has written the current snapshot.
var ErrNotCurrent = errors.New("another owner has written the current snapshot: pruning is left to it")

// Prune removes the snapshots of a partition but for the newest Keep, and the files that are named by none of those left
// and older than the grace period. own is the position of the current snapshot as the caller wrote it, nil for an
// operator. dry removes nothing.
//
// It cannot remove what a snapshot names or will name, even if it sleeps between looking and removing: a file that no
// manifest names, and that is as old as the grace period, is never named again (upload.go). Manifests are read after the
// files were listed, so that a file whose manifest was written in between counts as named. While there is a manifest that
// cannot be read and might still be of use, no files are removed.
func (r *Repository) Prune(ctx context.Context, partition int32, own *projections.Position, dry bool) (p Pruned, err error) {
	prefix := partitionPrefix(partition)
	now := r.o.Now()
	var old []Object // everything that is no manifest and old enough
	if err := r.bucket.List(ctx, prefix, func(o Object) error {
		if rest := o.Key[len(prefix):]; now.Sub(o.Modified) >= r.o.Grace && !isManifest(rest) {
			old = append(old, o)
		}
		return nil
	}); err != nil {
		return p, err
	}
	list, err := r.List(ctx, partition)
	if err != nil {
		return p, err
	}
	if own != nil && (len(list) == 0 || !list[0].Current || list[0].Manifest == nil || list[0].Manifest.Position() != *own) {
		return p, fmt.Errorf("partition %d at position %v: %w", partition, *own, ErrNotCurrent)
	}
	drop, named, unsure := r.sort(list, now, &p)
	for _, e := range drop {
		if e.Manifest != nil {
			p.Snapshots = append(p.Snapshots, Name(e.Manifest.Position()))
		}
		if !dry {
			if err := r.bucket.Delete(ctx, e.Key); err != nil {
				return p, err
			}
		}
	}
	if unsure != nil {
		return p, fmt.Errorf("no files of partition %d are removed, since it is not known what this names: %w", partition, unsure)
	}
	for _, o := range old {
		if named[o.Key[len(prefix):]] {
			continue
		}
		if !dry {
			if err := r.bucket.Delete(ctx, o.Key); err != nil {
				return p, err
			}
		}
		p.Files++
		p.Bytes += o.Size
	}
	return p, nil
}

// sort decides which manifests go, and what those that stay name. unsure is why that is not known.
func (r *Repository) sort(list []Entry, now time.Time, p *Pruned) (drop []Entry, named map[string]bool, unsure error) {
	named = map[string]bool{}
	for i := range list {
		e := &list[i]
		switch {
		case e.Manifest != nil && (p.Kept < r.o.Keep || e.Current):
			p.Kept++
			for j := range e.Manifest.Files {
				named[e.Manifest.Files[j].Object] = true
			}
		case e.Manifest != nil:
			drop = append(drop, *e)
		default:
			var bad *ManifestError
			if errors.As(e.Err, &bad) && !bad.Newer && !e.Current && now.Sub(e.modified) >= r.o.Grace {
				drop = append(drop, *e) // nobody can restore it
				continue
			}
			unsure = errors.Join(unsure, e.Err)
		}
	}
	return drop, named, unsure
}

func isManifest(rest string) bool {
	_, history := nameOf(rest)
	return rest == currentName || history && strings.HasPrefix(rest, historyPrefix)
}
