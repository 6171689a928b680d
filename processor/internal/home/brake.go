package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/merge"
	"github.com/tidemark/tidemark/projections"
)

// The brake. A record at which the fold panics is tried again, because the cause may be bad memory
// or a state that only this process had. A file beside the store counts the tries over restarts.
// After maxPanics of them the partition is parked: it is not opened any more, and its error names
// the record. Other partitions go on. A build without the bug tries the record again by itself;
// otherwise an operator can skip the record (Config.Skip).

// maxPanics is how often a record may panic before its partition is parked.
const maxPanics = 3

// panicMark is the mark of the brake's file beside a store.
const panicMark = "panic"

// brake is the content of that file.
type brake struct {
	events.RecordID
	Key   string    `json:"key"`
	Panic string    `json:"panic"`
	Build string    `json:"build"` // another build may try the record again
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// buildID identifies this build. Builds outside of a repository all have the same id.
func buildID() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	id := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.time" || s.Key == "vcs.modified" {
			id += " " + s.Value
		}
	}
	return id
}

func (h *Home) brakeFile() string {
	return beside(h.Dir(), panicMark) + ".json"
}

// readBrake returns the earlier panics of this build, or nil.
func (h *Home) readBrake() (*brake, error) {
	f, err := h.fs().Open(h.brakeFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	b := &brake{}
	if err := json.Unmarshal(data, b); err != nil {
		return nil, fmt.Errorf("%s: %w", h.brakeFile(), err)
	}
	if b.Build != buildID() {
		return nil, nil
	}
	return b, nil
}

// writeBrake replaces the file.
func (h *Home) writeBrake(b *brake) error {
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	fs, temp := h.fs(), h.brakeFile()+".new"
	f, err := fs.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return fs.Rename(temp, h.brakeFile())
}

// Parked returns why the partition must not be opened, or nil.
func (h *Home) Parked() error {
	b, err := h.readBrake()
	if err != nil {
		h.log.Warn("the file of earlier panics cannot be read; the partition is opened anyway", "partition", h.partition, "err", err)
		return nil
	}
	h.panicked = b
	if b == nil || b.Count < maxPanics || h.cfg.Skips[b.RecordID] {
		return nil
	}
	return h.parkedError(b)
}

func (h *Home) parkedError(b *brake) error {
	return fmt.Errorf("%s/%d at offset %d (key %q): parked: the fold panicked %d times at this record, last with %q; run a build "+
		"that repairs this, and the record is tried again; or skip the record: start all nodes with --skip-record %s; or, to try "+
		"this build once more, remove %s and restart", b.Topic, b.Partition, b.Offset, b.Key, b.Count, b.Panic, b.RecordID, h.brakeFile())
}

// Panicked records that the fold panicked at a record, and returns the error of the partition.
// After fewer than maxPanics panics, the partition is opened again as after any failure.
func (h *Home) Panicked(err error, it merge.Item) error {
	bug := guard.Of(err)
	if bug == nil {
		return err
	}
	now := h.cfg.Now().UTC()
	b := &brake{RecordID: events.RecordID{Topic: it.Rec.Topic, Partition: it.Rec.Partition, Offset: it.Rec.Offset}, Key: string(it.Rec.Key),
		Panic: fmt.Sprint(bug.Value), Build: buildID(), Count: 1, First: now, Last: now}
	if was := h.panicked; was != nil && was.RecordID == b.RecordID {
		b.Count, b.First = was.Count+1, was.First
	}
	h.panicked = b
	if err := h.writeBrake(b); err != nil {
		h.log.Warn("the panic of the fold cannot be written to disk, so a restart forgets it", "partition", h.partition, "err", err)
	}
	if b.Count >= maxPanics {
		return errors.Join(h.parkedError(b), bug)
	}
	return failure.Passing(fmt.Errorf("%w (key %q; %d of %d times before the partition is parked)", err, b.Key, b.Count, maxPanics))
}

// Folded releases the brake once the stored position is past the record.
func (h *Home) Folded(stored projections.Position) {
	b := h.panicked
	if b == nil {
		return
	}
	for i, topic := range h.cfg.Topics.Inputs {
		if topic == b.Topic && stored[i] > b.Offset {
			h.panicked = nil
			if err := h.fs().Remove(h.brakeFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
				h.log.Warn("the file of an earlier panic cannot be removed", "file", h.brakeFile(), "err", err)
			}
		}
	}
}
