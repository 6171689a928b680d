package loading

import (
	"encoding/binary"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// MaxResting is the largest number of rows with which a channel leaves memory. Loading more would
// take longer than a lock may be held.
const MaxResting = 4096

// skimmer reads the records of channels that do not fit into memory while a store is opened. It notes a
// channel as cold, without making rows for its members, if it has only its record and pages of members.
type skimmer struct {
	Loader
	list    List
	large   bool
	lastM   int64
	ords    uint32
	members []member
	users   []uint64 // hashes of the members' ids
}

// member is a member of a channel that stays in the store.
type member struct {
	id           []byte
	lastR, lastD int64
}

// read reads the records of a channel. It returns false for a channel that has to be loaded: in which
// something may wait, which has more than MaxResting users, which counts in the totals of the
// state, or whose records are not complete, which loading reports. With quick, read neither
// collects what note needs nor checks how many members are present.
func (s *skimmer) read(quick bool) bool {
	const resting = state.ChannelLarge | state.ChannelReposted | state.ChannelTrimmed
	x, rest := &s.list, len(s.list.ID)+2
	if x.First(); x.Key()[rest] != keys.HotChannel || len(x.Key()) != rest+1 {
		return false
	}
	var c state.Channel
	r := wire.Reader{B: x.Value()}
	flags := readHead(&c, &r)
	present, ords := c.Members, c.Ords
	s.large, s.lastM, s.ords = flags&state.ChannelLarge != 0, c.LastM, ords
	if r.Err != nil || flags&^resting != 0 || c.LastM == 0 || c.HeadSeq != c.HeadPos || ords > MaxResting || s.logWaits(&c, flags, &r) {
		return false
	}
	s.members = s.members[:0]
	read := uint32(0)
	for page := uint32(0); x.Next(); page++ {
		k := x.Key()[rest:]
		if len(k) != 5 || k[0] != keys.HotPage || binary.BigEndian.Uint32(k[1:]) != page {
			return false
		}
		var n uint32
		var ok bool
		if quick {
			n, ok = records.SkipRows(x.Value())
		} else {
			var here uint32
			n, here, ok = s.collect(x.Value())
			present -= here
		}
		if !ok {
			return false // it is corrupt, or has rare parts
		}
		if n != min(keys.PageLen, ords-page*keys.PageLen) {
			return false
		}
		read += n
	}
	return read == ords && (quick || present == 0)
}

// logWaits reports whether the log of a channel waits to be trimmed. r is behind what readHead reads.
func (s *skimmer) logWaits(c *state.Channel, flags byte, r *wire.Reader) bool {
	if !s.Settings.TrimLog {
		return flags&state.ChannelTrimmed != 0 // loading refuses it
	}
	if c.HeadSeq == 0 {
		return false
	}
	readTimes(c, r)
	r.Bytes() // the largest id
	readDistances(c, r)
	_, waits, err := s.ending(s.list.ID, c, flags, r)
	return err != nil || r.Err != nil || waits
}

// collect adds the members of a page, and returns how many they are and how many of them are present. It
// returns false like records.SkipRows.
func (s *skimmer) collect(page []byte) (n, present uint32, ok bool) {
	for rd := (wire.Reader{B: page}); len(rd.B) > 0; n++ {
		id := rd.Bytes()
		row, plain := records.SkimRow(&rd)
		if !plain || len(id) == 0 || rd.Err != nil {
			return 0, 0, false
		}
		if row.Member {
			present++
		}
		s.members = append(s.members, member{id, row.LastR, row.LastD})
	}
	return n, present, true
}

// hash adds the channel's records to the digest of what a store reads when it is opened.
func (s *skimmer) hash() {
	x := &s.list
	for i := range x.Len() {
		s.Written.Hot.Add(keys.RecordHash(x.part(2*i), x.part(2*i+1)))
	}
}

// note notes the channel that read has read, after touch.
func (s *skimmer) note() {
	ref := s.Cold.Leaves(s.list.ID, s.large, true, s.lastM)
	for i, user := range s.users {
		s.Cold.RowLeaves(ref, true, s.members[i].lastR, s.members[i].lastD)
		if s.Cold.List(user, ref) && s.UserTable.May(user) {
			s.UsersInBoth++
		}
	}
}

// touch prepares note. It changes nothing that readers read.
func (s *skimmer) touch() {
	s.users = s.users[:0]
	for i := range s.members {
		s.users = append(s.users, state.IDHash(s.members[i].id))
	}
	sum := s.Cold.Touch(s.users)
	for _, user := range s.users {
		sum += s.UserTable.Peek(user)
	}
	s.Warmth.Sum = sum
}
