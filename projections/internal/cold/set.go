// Package cold has what memory keeps of cold channels: channels that are in the store only (DESIGN
// §5, Hot and cold). There are two kinds:
//
//   - Readers know the channel. Memory keeps its id and lists it for each user who has something in
//     it, instead of a row. Queries read it from the store. Users are identified by a hash of their
//     id.
//   - For readers the channel does not exist: it was deleted, or no record of chat.messages has
//     named it. Memory keeps a hash of its id.
//
// In either case, the first event that names the channel loads it. Leaving and coming back change
// no record, no digest and no delta.
//
//	set.go    cold channels
//	list.go   the cold channels of a user
package cold

import (
	"bytes"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/identity"
)

// Set is the cold channels of a partition.
type Set struct {
	Blobs    *arena.Blobs // has the ids
	Channels arena.Slab[Channel]
	Count    int   // channels that are cold and that readers know
	Pairs    int   // rows in them
	Loaded   int64 // how often one of them has come back

	UserCount int // users who have a list

	// Listing is set while the store may have channels that readers know and that are neither in
	// memory nor in the set.
	Listing atomic.Bool

	ids     int64             // memory of the ids
	table   arena.Table       // of Channels, by id
	users   arena.SharedTable // of the first parts of lists, by the hash of the user's id
	lists   arena.Slab[list]
	unknown arena.ColdSet // of ids that readers do not know
}

// Channel is a channel that readers know and that is cold, or was.
type Channel struct {
	ID    uint32 // the id's blob
	Now   uint32 // the channel while it is in memory, 0 = it is cold
	Left  uint32 // how often it has left memory
	Pairs uint32 // rows that left with it
	Large bool   // whether it is large, while it is cold
	Plain bool   // whether its only records are that of the channel and the pages of its members, while it is cold
	// Upto has the offset + 1 of the last record of each input that named the channel, while it is
	// cold.
	Upto identity.Position
}

func hash(id []byte) uint64 { return arena.Mix(xxh3.Hash(id)) }

// Of returns the index in Channels of a channel that is cold or was, or 0.
func (s *Set) Of(id []byte) uint32 {
	if s.Channels.Unused() {
		return 0
	}
	return s.table.Find(hash(id), func(ref uint32) bool { return bytes.Equal(s.Blobs.Get(s.Channels.At(ref).ID), id) })
}

// Find returns a channel that readers know and that is cold, or nil.
func (s *Set) Find(id []byte) *Channel {
	if ref := s.Of(id); ref != 0 {
		if c := s.Channels.At(ref); c.Now == 0 {
			return c
		}
	}
	return nil
}

// Has reports whether readers know a channel with this id that is cold.
func (s *Set) Has(id []byte) bool { return s.Find(id) != nil }

// MayHave reports whether the store may have a channel that is not in memory.
func (s *Set) MayHave(id []byte) bool {
	return s.Listing.Load() || s.Has(id) || s.MayHaveUnknown(id)
}

// MayHaveUnknown reports whether the store may have a channel with this id that readers do not know.
func (s *Set) MayHaveUnknown(id []byte) bool { return s.unknown.Has(xxh3.Hash(id)) }

// MayBeUnlisted reports whether the store may have a channel that is not in the set. The channel must
// not be in memory.
func (s *Set) MayBeUnlisted(id []byte) bool { return s.Listing.Load() && s.Of(id) == 0 }

// MayKnow reports whether any list is that of the user with a hash. It takes no lock, like
// arena.SharedTable.May.
func (s *Set) MayKnow(user uint64) bool { return s.users.May(user) }

// Peek loads the place in memory from which MayKnow begins.
func (s *Set) Peek(user uint64) uint64 { return s.users.Peek(user) }

// Removed returns how often lists have been removed. It takes no lock.
func (s *Set) Removed() uint32 { return s.users.Moves() }

// Users returns the hashes of the users who have a list. The set must not change after that.
func (s *Set) Users() arena.Hashes { return s.users.Hashes() }

// Unknown notes that the store may have a channel with this id that readers do not know.
func (s *Set) Unknown(id []byte) { s.unknown.Add(xxh3.Hash(id)) }

// Leaves notes that a channel that readers know leaves memory, and returns its index in Channels.
// lastM is the offset + 1 of its last record in chat.messages. plain is as in Channel, as far as the
// rows do not matter.
func (s *Set) Leaves(id []byte, large, plain bool, lastM int64) uint32 {
	ref := s.Of(id)
	if ref == 0 {
		ref = s.Channels.Push(Channel{ID: s.Blobs.Put(id)})
		s.table.Insert(hash(id), ref)
		s.ids += s.Blobs.Size(s.Channels.At(ref).ID)
	}
	c := s.Channels.At(ref)
	c.Now, c.Large, c.Plain, c.Upto = 0, large, plain, identity.Position{events.Messages: lastM}
	c.Left++
	s.Count++
	return ref
}

// RowLeaves notes that a user has a row in a channel that leaves memory. plain reports whether all of
// the row is in a page of members. lastR and lastD are the offsets + 1 of the row's last records in
// chat.reads and chat.deliveries.
func (s *Set) RowLeaves(ref uint32, plain bool, lastR, lastD int64) {
	c := s.Channels.At(ref)
	c.Plain = c.Plain && plain
	c.Upto[events.Reads], c.Upto[events.Deliveries] = max(c.Upto[events.Reads], lastR), max(c.Upto[events.Deliveries], lastD)
	c.Pairs++
	s.Pairs++
}

// Returns notes that a cold channel is in memory again.
func (s *Set) Returns(ref, channel uint32) {
	c := s.Channels.At(ref)
	s.Pairs -= int(c.Pairs)
	c.Now, c.Pairs, c.Large = channel, 0, false
	s.Count--
	s.Loaded++
}

// Drop removes a deleted channel, which is in memory.
func (s *Set) Drop(ref uint32) {
	c := s.Channels.At(ref)
	s.table.Remove(hash(s.Blobs.Get(c.ID)), ref)
	s.ids -= s.Blobs.Size(c.ID)
	s.Blobs.Release(c.ID)
	s.Channels.Release(ref)
}

// Bytes returns the memory of the set, without the ids.
func (s *Set) Bytes() int64 {
	return arena.SlabBytes(&s.Channels) + arena.SlabBytes(&s.lists) + s.table.Bytes() + s.users.Bytes() + s.unknown.Bytes()
}

// IDBytes returns the memory of the ids.
func (s *Set) IDBytes() int64 { return s.ids }
