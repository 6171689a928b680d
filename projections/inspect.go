package projections

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// Inspection is what a store says about itself.
type Inspection struct {
	Identity Identity
	Format   uint64
	Fold     uint64
	Position Position
	Digest   [16]byte
	// LogTimes are those of the three inputs in Unix milliseconds, 0 = none yet.
	LogTimes [events.NumInputs]int64
	Records  []RecordStats
}

// ErrEmpty says that a store was made and nothing was ever written to it: it belongs to nothing yet.
var ErrEmpty = errors.New("nothing was written to it yet")

// RecordStats counts the records of one kind.
type RecordStats struct {
	Kind       string
	Count      int64
	KeyBytes   int64
	ValueBytes int64
}

// recordKinds names the kinds in the order of docs/formats.md.
var recordKinds = []struct {
	top, hot byte
	name     string
}{
	{keyHot, hotChannel, "channels"}, {keyHot, hotPage, "pages of members"}, {keyHot, hotGuest, "users who never joined"},
	{keyHot, hotUncounted, "uncounted messages (sets)"}, {keyHot, hotDeleted, "deleted messages (sets)"},
	{keyHot, hotAlls, "@all messages (sets)"}, {keyHot, hotMentions, "mentions (sets)"}, {keyHot, hotSingles, "single reads (sets)"},
	{keyHot, hotHeld, "waiting reads"}, {keyHot, hotThread, "threads"}, {keyHot, hotReplies, "replies (sets)"},
	{keyHot, hotBroadcasts, "broadcast replies (sets)"}, {keyHot, hotThreadAlls, "@all replies (sets)"},
	{keyHot, hotFollow, "users in threads"}, {keyHot, hotThreadMentions, "mentions in threads (sets)"},
	{keyHot, hotThreadSingles, "single reads in threads (sets)"}, {keyHot, hotThreadHeld, "waiting reads in threads"},
	{keyHot, hotSizes, "receipt limits (changes)"}, {keyHot, hotOpen, "open reads, for receipts"},
	{keyHot, hotThreadOpen, "open reads in threads, for receipts"}, {keyHot, hotWaiting, "waiting deliveries"},
	{keyHot, hotQueued, "queued messages (sets)"}, {keyHot, hotSpans, "memberships"}, {keyReceipts, 0, "blocks of receipts"}, {keyIndex, 0, "message index"}, {keyLog, 0, "log blocks"},
}

// Inspect reads the store in dir without changing anything, and without knowing what it belongs to. It needs the
// directory to itself: that of a running node is refused. fs nil is the operating system's.
//
// It recomputes the digest from all records; an error says if that is not the one in the header.
func Inspect(dir string, fs vfs.FS) (*Inspection, error) { return look(dir, fs, true) }

// InspectHeader is Inspect without going through the records, so that it is quick whatever the size of the store.
func InspectHeader(dir string, fs vfs.FS) (*Inspection, error) { return look(dir, fs, false) }

func look(dir string, fs vfs.FS, records bool) (x *Inspection, err error) {
	db, tables, err := openReadOnly(dir, pebbleOptions(dir, Options{FS: fs}))
	if err != nil {
		return nil, err
	}
	err = whole(db, func() error {
		x, err = inspect(dir, db, tables, records)
		return err
	})
	return x, errors.Join(err, db.Close())
}

// openReadOnly opens the database in dir without changing anything. tables says that there are some.
func openReadOnly(dir string, o *pebble.Options) (db *pebble.DB, tables bool, err error) {
	names, err := o.FS.List(dir)
	if err == nil {
		tables = slices.ContainsFunc(names, func(name string) bool { return path.Ext(name) == ".sst" })
		o.ReadOnly, o.ErrorIfNotExists = true, true
		if db, err = pebble.Open(dir, o); err != nil && isCorruption(err) {
			return nil, false, &CorruptError{dir, err}
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("store %s: %w", dir, err)
	}
	return db, tables, nil
}

func inspect(dir string, db *pebble.DB, tables, records bool) (*Inspection, error) {
	v, closer, err := db.Get([]byte{keyHeader})
	if errors.Is(err, pebble.ErrNotFound) {
		// By the rule of Open: no header is the state of a new store only if there is nothing else either.
		if err := (&Partition{db: db}).loadEmpty(dir, tables); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("store %s: it has no header: %w", dir, ErrEmpty)
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: its header cannot be read: %w", dir, err)
	}
	var h header
	err = errors.Join(h.decode(v), closer.Close())
	if err != nil {
		return nil, fmt.Errorf("store %s: its header is corrupt: %w", dir, err)
	}
	x := &Inspection{Identity: h.id, Format: h.format, Fold: h.fold, Position: h.pos, Digest: h.digest.bytes()}
	if h.format != FormatVersion {
		return x, fmt.Errorf("store %s: format %d is not known to this build, which knows %d", dir, h.format, FormatVersion)
	}
	for i, t := range h.times {
		if t != minTime {
			x.LogTimes[i] = t
		}
	}
	if !records {
		return x, nil
	}
	sum, err := x.count(db)
	if err == nil && sum != h.digest {
		err = fmt.Errorf("store %s: its records have the digest %x, its header says %x: it is corrupt", dir, sum.bytes(), h.digest.bytes())
	}
	return x, err
}

// count goes through all records.
func (x *Inspection) count(db *pebble.DB) (sum digest, err error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return sum, err
	}
	x.Records = make([]RecordStats, len(recordKinds))
	for i, k := range recordKinds {
		x.Records[i].Kind = k.name
	}
	for it.First(); it.Valid(); it.Next() {
		key, val := it.Key(), it.Value()
		if key[0] == keyHeader || key[0] == keyCut {
			continue
		}
		sum.add(recordHash(key, val))
		if i := kindOf(key); i >= 0 {
			s := &x.Records[i]
			s.Count++
			s.KeyBytes += int64(len(key))
			s.ValueBytes += int64(len(val))
		} else {
			err = errors.Join(err, fmt.Errorf("record %q is of no known kind", key))
		}
	}
	return sum, errors.Join(err, it.Error(), it.Close())
}

// kindOf is the index of the record's kind in recordKinds, -1 if it has none.
func kindOf(key []byte) int {
	var hot byte
	if n := bytes.IndexByte(key, 0); key[0] == keyHot && n >= 0 && n+1 < len(key) {
		hot = key[n+1]
	}
	for i, k := range recordKinds {
		if k.top == key[0] && k.hot == hot {
			return i
		}
	}
	return -1
}
