package projections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// comparedChannels is how many differing channels Compare examines in detail.
const comparedChannels = 1000

// Compare compares the records of two stores and describes each channel that differs. It lists the
// numbers and pointers that readers would see differently; if those agree, it lists the differing
// records. fn gets the differences in the order of channels, until it returns false. Compare
// describes the first 1,000 differing channels; more is the number of the others. Everything in
// both partitions must be cut and applied. The caller holds RLock of both.
func Compare(a, b *Partition, fn func(Difference) bool) (more int, err error) {
	if a.rules.Positions != b.rules.Positions {
		fn(Difference{Field: "position", A: fmt.Sprint(a.rules.Positions), B: fmt.Sprint(b.rules.Positions)})
		return 0, nil // at different positions everything may differ
	}
	found, more, err := differing(a.db, b.db)
	if err != nil {
		return 0, err
	}
	for _, c := range found {
		list := append(compareViews(a, b, c.id), threadViews(a, b, c)...)
		if len(list) == 0 {
			list = c.records
		}
		for _, d := range list {
			if !fn(d) {
				return more, errors.Join(a.rules.Err(), b.rules.Err())
			}
		}
	}
	if len(found) == 0 && a.rules.Written.Digest != b.rules.Written.Digest {
		fn(Difference{Field: "digest in the header (all records are equal)", A: fmt.Sprintf("%x", a.rules.Digest()), B: fmt.Sprintf("%x", b.rules.Digest())})
	}
	return more, errors.Join(a.rules.Err(), b.rules.Err())
}

// differing iterates over both stores side by side and finds the channels with differing records.
func differing(a, b *pebble.DB) (found []*channelRecords, more int, err error) {
	ia, err := a.NewIter(nil)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, ia.Error(), ia.Close()) }()
	ib, err := b.NewIter(nil)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, ib.Error(), ib.Close()) }()

	known := map[string]*channelRecords{}
	note := func(key, va, vb []byte) {
		if key[0] == keys.Header || key[0] == keys.Cut {
			return
		}
		id, kind, of := describeKey(key)
		c := known[id]
		if c == nil {
			if c = (&channelRecords{id: id}); len(found) < comparedChannels {
				found = append(found, c)
			} else {
				more++
			}
			known[id] = c
		}
		if n := len(c.threads); of.user != "" && of.thread != "" && n < 64 && !slices.Contains(c.threads, of) {
			c.threads = append(c.threads, of)
		}
		if len(c.records) < 16 {
			c.records = append(c.records, Difference{Channel: id, User: of.user, Field: "record " + kind, A: sizeOf(va), B: sizeOf(vb)})
		}
	}
	ia.First()
	ib.First()
	for ia.Valid() || ib.Valid() {
		var order int
		switch {
		case !ia.Valid():
			order = 1
		case !ib.Valid():
			order = -1
		default:
			order = bytes.Compare(ia.Key(), ib.Key())
		}
		switch {
		case order < 0:
			note(ia.Key(), ia.Value(), nil)
			ia.Next()
		case order > 0:
			note(ib.Key(), nil, ib.Value())
			ib.Next()
		default:
			if !bytes.Equal(ia.Value(), ib.Value()) {
				note(ia.Key(), ia.Value(), ib.Value())
			}
			ia.Next()
			ib.Next()
		}
	}
	slices.SortFunc(found, func(x, y *channelRecords) int { return strings.Compare(x.id, y.id) })
	return found, more, nil
}

func sizeOf(val []byte) string {
	if val == nil {
		return "none"
	}
	return fmt.Sprintf("%d bytes (%x)", len(val), keys.RecordHash(nil, val)[0])
}

// describeKey describes the record under a key: its channel, its kind, and its user and thread.
func describeKey(key []byte) (channel, kind string, of userThread) {
	id, rest, ok := bytes.Cut(key[1:], []byte{0})
	i := keys.KindOf(key)
	if !ok || i < 0 {
		return "", fmt.Sprintf("%q, which is of no known kind", key), of
	}
	kind = keys.Kinds[i].Name
	if key[0] == keys.Index {
		return string(id), fmt.Sprintf("%s %q", kind, rest), of
	}
	if key[0] == keys.Receipts {
		if len(rest) >= 8 {
			kind += fmt.Sprintf(" %d of page %d", binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:]))
			of.thread = string(rest[8:])
		}
		return string(id), kind, of
	}
	if key[0] == keys.Log {
		if len(rest) == 4 {
			kind += fmt.Sprintf(" %d", binary.BigEndian.Uint32(rest))
		}
		return string(id), kind, of
	}
	first, more, _ := bytes.Cut(rest[1:], []byte{0})
	switch rest[0] {
	case keys.HotPage:
		if len(rest) == 5 {
			kind += fmt.Sprintf(" %d", binary.BigEndian.Uint32(rest[1:]))
		}
	case keys.HotGuest, keys.HotPending, keys.HotMentions, keys.HotSingles, keys.HotOpen, keys.HotWaiting, keys.HotQueued, keys.HotSpans, keys.HotSettings, keys.HotUnseen, keys.HotHidden, keys.HotHiddenTo, keys.HotReadAll:
		of.user = string(first)
	case keys.HotThread, keys.HotReplies, keys.HotBroadcasts, keys.HotThreadAlls:
		of.thread = string(first)
	case keys.HotFollow, keys.HotThreadPending, keys.HotThreadMentions, keys.HotThreadSingles, keys.HotThreadOpen, keys.HotThreadReadAll:
		thread, _, _ := bytes.Cut(more, []byte{0})
		of = userThread{string(first), string(thread)}
	}
	if of.thread != "" {
		kind += fmt.Sprintf(" of thread %q", of.thread)
	}
	return string(id), kind, of
}
