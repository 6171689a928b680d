package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/tidemark/tidemark/internal/guard"
)

func newBytes(b []byte) io.ReadSeeker { return bytes.NewReader(b) }

// upload gives each file of m an object: that of base or another that will not be pruned meanwhile,
// or a new one.
func (r *Repository) upload(ctx context.Context, m, base *Manifest, dir string, o CreateOptions, s *Stats) error {
	prefix := partitionPrefix(m.Partition)
	existing := map[string]Object{}
	if err := r.bucket.List(ctx, prefix+filesPrefix, func(o Object) error {
		existing[o.Key[len(prefix):]] = o
		return nil
	}); err != nil {
		return err
	}
	known := map[string]string{} // objects that the current manifest names, by hash
	if base != nil {
		for i := range base.Files {
			known[base.Files[i].SHA256] = base.Files[i].Object
		}
	}
	var missing []*File
	var total int64
	for i := range m.Files {
		f := &m.Files[i]
		if f.Object = ""; !o.Full {
			f.Object = r.reuse(existing, known, prefix, f)
		}
		if f.Object == "" {
			f.Object = fileKey(f.SHA256, r.o.Now())
			missing = append(missing, f)
			total += f.Size
		}
	}
	if o.MaxUpload > 0 && total > o.MaxUpload {
		return fmt.Errorf("partition %d, %d bytes: %w", m.Partition, total, ErrTooLarge)
	}
	progress := r.meter(o.Report, PhaseUpload, total)
	g, ctx := guard.WithContext(ctx)
	g.SetLimit(r.o.Parallel)
	for _, f := range missing {
		g.Go("uploading "+f.Name, func() error {
			if err := r.put(ctx, prefix+f.Object, r.o.FS.PathJoin(dir, f.Name), f.Size); err != nil {
				return err
			}
			atomic.AddInt64(&s.UploadedFiles, 1)
			atomic.AddInt64(&s.UploadedBytes, f.Size)
			progress.add(f.Size)
			return nil
		})
	}
	return g.Wait()
}

// reuse returns an existing object with the content of f that prune will not remove, or "". Prune
// keeps an object that the current manifest names; if another manifest becomes current, the new one
// is not written. Prune keeps an object that no manifest names until it is as old as the grace
// period. A creator that starts when the object has half that age finishes long before.
func (r *Repository) reuse(existing map[string]Object, known map[string]string, prefix string, f *File) string {
	usable := func(key string) bool {
		o, ok := existing[key]
		r.mu.Lock()
		_, bad := r.suspect[prefix+key]
		r.mu.Unlock()
		return ok && o.Size == f.Size && !bad
	}
	if key, ok := known[f.SHA256]; ok && usable(key) {
		return key
	}
	for key, o := range existing {
		if strings.HasPrefix(key, filesPrefix+f.SHA256) && isObject(key, f.SHA256) && usable(key) && r.o.Now().Sub(o.Modified) < r.o.Grace/2 {
			return key
		}
	}
	return ""
}

func (r *Repository) put(ctx context.Context, key, from string, size int64) error {
	file, err := r.o.FS.Open(from)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	err = r.bucket.Put(ctx, key, io.NewSectionReader(file, 0, size), size)
	return errors.Join(err, file.Close())
}
