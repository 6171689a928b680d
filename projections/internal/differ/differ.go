package differ

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

// Difference describes one way in which two stores of a partition differ. User and Channel are
// empty if the difference concerns none.
type Difference struct {
	Channel string `json:"channel,omitempty"`
	User    string `json:"user,omitempty"`
	Field   string `json:"field"` // the differing field of a View or ChannelView, or the record of the store
	A       string `json:"a"`     // the values in the two stores; "none" if a store has no value
	B       string `json:"b"`
}

// String returns the difference in one line.
func (d Difference) String() string {
	var of []string
	if d.Channel != "" {
		of = append(of, fmt.Sprintf("channel %q", d.Channel))
	}
	if d.User != "" {
		of = append(of, fmt.Sprintf("user %q", d.User))
	}
	return strings.Join(append(of, fmt.Sprintf("%s: %s, %s", d.Field, d.A, d.B)), ", ")
}

// Channel holds the differing records of one channel.
type Channel struct {
	ID      string
	Records []Difference // the first ones only
	Threads []Scope      // users and threads with differing records, in order; the first ones only
}

// Scope is a user, a thread, or a user in a thread. What it is not is empty.
type Scope struct{ User, Thread string }

// Channels iterates over both stores side by side and finds the channels with differing records, in
// order. It returns at most most of them, and the number of the others.
func Channels(a, b *pebble.DB, most int) (found []*Channel, more int, err error) {
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

	known := map[string]*Channel{}
	note := func(key, va, vb []byte) {
		if key[0] == keys.Header || key[0] == keys.Cut {
			return
		}
		id, kind, of := describeKey(key)
		c := known[id]
		if c == nil {
			if c = (&Channel{ID: id}); len(found) < most {
				found = append(found, c)
			} else {
				more++
			}
			known[id] = c
		}
		if n := len(c.Threads); of.User != "" && of.Thread != "" && n < 64 && !slices.Contains(c.Threads, of) {
			c.Threads = append(c.Threads, of)
		}
		if len(c.Records) < 16 {
			c.Records = append(c.Records, Difference{Channel: id, User: of.User, Field: "record " + kind, A: sizeOf(va), B: sizeOf(vb)})
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
	slices.SortFunc(found, func(x, y *Channel) int { return strings.Compare(x.ID, y.ID) })
	return found, more, nil
}

func sizeOf(val []byte) string {
	if val == nil {
		return "none"
	}
	return fmt.Sprintf("%d bytes (%x)", len(val), keys.RecordHash(nil, val)[0])
}

// describeKey describes the record under a key: its channel, its kind, and its user and thread.
func describeKey(key []byte) (channel, kind string, of Scope) {
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
			of.Thread = string(rest[8:])
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
		of.User = string(first)
	case keys.HotThread, keys.HotReplies, keys.HotBroadcasts, keys.HotThreadAlls:
		of.Thread = string(first)
	case keys.HotFollow, keys.HotThreadPending, keys.HotThreadMentions, keys.HotThreadSingles, keys.HotThreadOpen, keys.HotThreadReadAll:
		thread, _, _ := bytes.Cut(more, []byte{0})
		of = Scope{string(first), string(thread)}
	}
	if of.Thread != "" {
		kind += fmt.Sprintf(" of thread %q", of.Thread)
	}
	return string(id), kind, of
}
