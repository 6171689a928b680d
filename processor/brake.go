package processor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// The brake: a record at which the fold panics is tried again, since memory that went bad, or a state that only this
// process had, passes. After maxPanics times, counted over restarts in a file beside the store, its partition is parked:
// it is not opened any more, and says which record it is. The others go on. The way out is a build that does not panic
// there, which is let try by itself, or to skip that one record in so many words (Config.Skip).

// maxPanics is how often a record may panic before its partition is parked.
const maxPanics = 3

// panicMark names the file beside a store.
const panicMark = "panic"

// RecordID names a record of an input.
type RecordID struct {
	Topic     string
	Partition int32
	Offset    int64
}

// String is the form of an after token.
func (r RecordID) String() string { return fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset) }

// ParseRecordID reads what String writes.
func ParseRecordID(s string) (RecordID, error) {
	parts := strings.Split(s, "/")
	if len(parts) == 3 && parts[0] != "" {
		partition, errP := strconv.ParseInt(parts[1], 10, 32)
		offset, errO := strconv.ParseInt(parts[2], 10, 64)
		if errP == nil && errO == nil && partition >= 0 && offset >= 0 {
			return RecordID{parts[0], int32(partition), offset}, nil
		}
	}
	return RecordID{}, fmt.Errorf("%q is no record: write it as topic/partition/offset", s)
}

// ReasonSkipped is that of a record that was skipped on demand.
const ReasonSkipped events.Reason = "skipped"

// brake is what the file says.
type brake struct {
	RecordID
	Key   string    `json:"key"`
	Panic string    `json:"panic"`
	Build string    `json:"build"` // a build other than this one is let try
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// buildID tells this build from others, as far as they were built from a repository; else all are one.
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

func (w *worker) brakeFile() string {
	return beside(StoreDir(w.cfg.DataDir, w.number), panicMark) + ".json"
}

// readBrake returns what is known of earlier panics of this build, nil if there were none.
func (w *worker) readBrake() (*brake, error) {
	f, err := w.fs().Open(w.brakeFile())
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
		return nil, fmt.Errorf("%s: %w", w.brakeFile(), err)
	}
	if b.Build != buildID() {
		return nil, nil
	}
	return b, nil
}

// writeBrake replaces the file.
func (w *worker) writeBrake(b *brake) error {
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	fs, temp := w.fs(), w.brakeFile()+".new"
	f, err := fs.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return fs.Rename(temp, w.brakeFile())
}

// parked is why the partition is not to be opened, nil if it is.
func (w *worker) parked() error {
	b, err := w.readBrake()
	if err != nil {
		w.log.Warn("what is known of earlier panics cannot be read; the partition is opened", "partition", w.number, "err", err)
		return nil
	}
	w.panicked = b
	if b == nil || b.Count < maxPanics || w.cfg.skips[b.RecordID] {
		return nil
	}
	return w.parkedError(b)
}

func (w *worker) parkedError(b *brake) error {
	return fmt.Errorf("%s/%d at offset %d (key %q): parked: the fold panicked %d times at this record, last with %q; run a build in "+
		"which that is repaired, and it is tried again; or go on without the record: start all nodes with --skip-record %s; or, to try "+
		"once more as it is, remove %s and restart", b.Topic, b.Partition, b.Offset, b.Key, b.Count, b.Panic, b.RecordID, w.brakeFile())
}

// braked notes that the fold panicked, and says so in words. Below maxPanics times the partition is tried again.
func (w *worker) braked(err error, it item) error {
	var p *panicError
	if !errors.As(err, &p) {
		return err
	}
	now := w.cfg.now().UTC()
	b := &brake{RecordID: RecordID{it.rec.Topic, it.rec.Partition, it.rec.Offset}, Key: string(it.rec.Key),
		Panic: fmt.Sprint(p.value), Build: buildID(), Count: 1, First: now, Last: now}
	if was := w.panicked; was != nil && was.RecordID == b.RecordID {
		b.Count, b.First = was.Count+1, was.First
	}
	w.panicked = b
	if err := w.writeBrake(b); err != nil {
		w.log.Warn("that the fold panicked cannot be noted: it is not remembered over a restart", "partition", w.number, "err", err)
	}
	if b.Count >= maxPanics {
		return errors.Join(w.parkedError(b), p)
	}
	return passing{fmt.Errorf("%w (key %q; %d of %d times before the partition is parked)", err, b.Key, b.Count, maxPanics)}
}

// unbrake releases the brake once the record is behind what is stored.
func (w *worker) unbrake() {
	b := w.panicked
	if b == nil {
		return
	}
	for i, topic := range w.cfg.Topics.Inputs {
		if topic == b.Topic && w.stored[i] > b.Offset {
			w.panicked = nil
			if err := w.fs().Remove(w.brakeFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
				w.log.Warn("that the fold panicked once is still noted", "file", w.brakeFile(), "err", err)
			}
		}
	}
}
