package home

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/merge"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// newHome returns the home of partition 3 in a file system, as one process would make it.
func newHome(t *testing.T, fs vfs.FS, skip ...events.RecordID) *Home {
	t.Helper()
	c := setup.Config{Brokers: []string{"nobody:1"}, Group: "g", DataDir: "data", FS: fs, Skip: skip}
	setup.HooksOf(&c).Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	checked, err := setup.Check(c)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(checked)
	e.Log = slog.New(slog.DiscardHandler)
	if err := fs.MkdirAll("data", 0o755); err != nil {
		t.Fatal(err)
	}
	opened := make(chan struct{})
	close(opened)
	return New(context.Background(), e, &inbox.Inbox{Partition: 3}, opened)
}

// panicAt reports to h that the fold panicked at a record.
func panicAt(h *Home, offset int64) error {
	return h.Panicked(guard.New("the fold", "out of range"), merge.Item{Rec: &kgo.Record{Topic: events.TopicReads, Partition: 3, Offset: offset, Key: []byte("general")}})
}

// After the third panic at a record, over restarts, the partition is parked. Its error names the
// record and the ways out.
func TestPanicsParkThePartition(t *testing.T) {
	fs := vfs.NewMem()
	for try := 1; try <= maxPanics; try++ {
		h := newHome(t, fs)
		if err := h.Parked(); err != nil {
			t.Fatalf("parked before try %d: %v", try, err)
		}
		err := panicAt(h, 41)
		if err == nil || guard.Of(err) == nil {
			t.Fatalf("try %d: the panic is lost: %v", try, err)
		}
		if failure.MayPass(err) != (try < maxPanics) {
			t.Errorf("try %d: may pass by itself: %t (%v)", try, failure.MayPass(err), err)
		}
	}
	h := newHome(t, fs)
	err := h.Parked()
	if err == nil {
		t.Fatal("after three panics the partition is opened")
	}
	for _, want := range []string{events.TopicReads + "/3 at offset 41", `key "general"`, "3 times", "--skip-record " + events.TopicReads, h.brakeFile()} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	skipping := newHome(t, fs, events.RecordID{Topic: events.TopicReads, Partition: 3, Offset: 41})
	if err := skipping.Parked(); err != nil {
		t.Errorf("parked though its record is skipped: %v", err)
	}
}

// Panics at another record are counted from one.
func TestPanicsAreCountedByRecord(t *testing.T) {
	h := newHome(t, vfs.NewMem())
	for _, offset := range []int64{41, 41, 42, 42} {
		if err := panicAt(h, offset); !failure.MayPass(err) {
			t.Fatalf("parked at %d: %v", offset, err)
		}
	}
	if err := panicAt(h, 42); failure.MayPass(err) {
		t.Errorf("the third panic at 42 does not park: %v", err)
	}
	if err := h.Panicked(context.Canceled, merge.Item{}); !errors.Is(err, context.Canceled) {
		t.Errorf("an error that is no panic becomes %v", err)
	}
}

// The home forgets the panics once the record is stored, and not before.
func TestFoldedRecordsReleaseTheBrake(t *testing.T) {
	fs := vfs.NewMem()
	h := newHome(t, fs)
	_ = panicAt(h, 41)
	reads := 0
	for i, topic := range h.cfg.Topics.Inputs {
		if topic == events.TopicReads {
			reads = i
		}
	}
	var stored projections.Position
	stored[reads] = 41 // the next offset: 41 itself is not stored
	h.Folded(stored)
	if _, err := fs.Stat(h.brakeFile()); err != nil {
		t.Errorf("the brake is released before its record is stored: %v", err)
	}
	stored[reads] = 42
	h.Folded(stored)
	if _, err := fs.Stat(h.brakeFile()); err == nil {
		t.Error("the brake is not released")
	}
	if b, err := newHome(t, fs).readBrake(); b != nil || err != nil {
		t.Errorf("after a restart the brake is %v, %v", b, err)
	}
}

// Another build tries the record again, and an unreadable note parks nothing.
func TestAnotherBuildTriesAgain(t *testing.T) {
	fs := vfs.NewMem()
	h := newHome(t, fs)
	b := &brake{RecordID: events.RecordID{Topic: events.TopicReads, Partition: 3, Offset: 41}, Build: buildID() + "x", Count: maxPanics}
	if err := h.writeBrake(b); err != nil {
		t.Fatal(err)
	}
	if err := h.Parked(); err != nil {
		t.Errorf("parked by the panics of another build: %v", err)
	}
	b.Build = buildID()
	if err := h.writeBrake(b); err != nil {
		t.Fatal(err)
	}
	if err := h.Parked(); err == nil {
		t.Error("not parked by the panics of this build")
	}
	f, err := fs.Create(h.brakeFile(), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if err := h.Parked(); err != nil {
		t.Errorf("parked by a note that cannot be read: %v", err)
	}
}
