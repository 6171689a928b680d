package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidemark/tidemark/projections"
)

// Pruned lists what Prune has removed, or would remove.
type Pruned struct {
	Snapshots []string // names
	Files     int
	Bytes     int64
	Kept      int // snapshots that are left
}

// ErrNotCurrent means that Prune was refused because another process has written the current
// snapshot.
var ErrNotCurrent = errors.New("another owner has written the current snapshot and prunes old ones")

// Prune removes a partition's snapshots except the newest Keep and the last one that this process
// checked whole, and the files that no remaining snapshot names and that are older than the grace
// period. own is the position of the current
// snapshot as the caller wrote it, nil for an operator. With dry it removes nothing.
//
// Prune cannot remove a file that a snapshot names or will name, even if it is paused between
// listing and removing: no later manifest names a file that is as old as the grace period and that
// no manifest names now (upload.go). Prune reads the manifests after it has listed the files, so a
// file whose manifest was written in between counts as named. While a manifest that may still be
// needed cannot be read, Prune removes no files.
func (r *Repository) Prune(ctx context.Context, partition int32, own *projections.Position, dry bool) (p Pruned, err error) {
	prefix := partitionPrefix(partition)
	now := r.o.Now()
	var old []Object // objects that are not manifests and old enough
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
	drop, named, unreadable := r.sort(list, now, &p)
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
	if unreadable != nil {
		return p, fmt.Errorf("no files of partition %d are removed, because a manifest that cannot be read may name them: %w", partition, unreadable)
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

// sort returns the manifests to drop and the files that the others name. unreadable is set if a
// manifest that may be needed cannot be read.
func (r *Repository) sort(list []Entry, now time.Time, p *Pruned) (drop []Entry, named map[string]bool, unreadable error) {
	named = map[string]bool{}
	for i := range list {
		e := &list[i]
		switch {
		case e.Manifest != nil && (p.Kept < r.o.Keep || e.Current || r.isChecked(e.Manifest)):
			p.Kept++
			for j := range e.Manifest.Files {
				named[e.Manifest.Files[j].Object] = true
			}
		case e.Manifest != nil:
			drop = append(drop, *e)
		default:
			var bad *ManifestError
			if errors.As(e.Err, &bad) && !bad.Newer && !e.Current && now.Sub(e.modified) >= r.o.Grace {
				drop = append(drop, *e) // it cannot be restored
				continue
			}
			unreadable = errors.Join(unreadable, e.Err)
		}
	}
	return drop, named, unreadable
}

func isManifest(rest string) bool {
	_, history := nameOf(rest)
	return rest == currentName || history && strings.HasPrefix(rest, historyPrefix)
}
