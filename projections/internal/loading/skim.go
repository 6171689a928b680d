package loading

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// MaxResting is the largest number of rows with which a channel leaves memory. Loading more would
// take longer than a lock may be held.
const MaxResting = 4096

// Fits reports whether all channels of a store are likely to fit into memory. stored is the size of
// the records under keys.Hot on disk, and limit that of memory, 0 for none. A pair takes about 9 bytes
// in the store and at least 130 in memory. With Settings.TrimLog no channel may leave memory.
func Fits(p *state.State, stored uint64, limit int64) bool {
	return limit == 0 || p.Settings.TrimLog || stored < uint64(limit)/14 //nolint:gosec // not negative
}

// skimmer opens a store whose channels do not fit into memory. It leaves as many of them as it can in
// the store, without making rows for their members.
type skimmer struct {
	Loader
	list    List
	large   bool
	lastM   int64
	members []member
	hashes  []uint64 // of the members' ids
}

// member is a member of a channel that stays in the store.
type member struct {
	id           []byte
	lastR, lastD int64
}

// Skim is All for a store that does not fit into memory: it notes the channels as cold that have
// nothing but their record and pages of members, and loads the others.
func (l Loader) Skim(it Records, loaded func(ci uint32)) (err error) {
	defer func() { err = errors.Join(err, it.Close()) }()
	s := &skimmer{Loader: l}
	for it.First(); it.Valid(); {
		id, _, err := splitHot(it.Key())
		if err != nil {
			return err
		}
		x := &s.list
		x.ID, x.bytes, x.ends = append(x.ID[:0], id...), x.bytes[:0], x.ends[:0]
		for same := true; same; {
			x.Add(it.Key(), it.Value())
			if same = it.Next(); same {
				if id, _, err = splitHot(it.Key()); err != nil {
					return err
				}
				same = bytes.Equal(id, x.ID)
			}
		}
		if s.read() {
			s.note()
		} else if err := l.load(x, loaded); err != nil {
			return err
		}
	}
	return it.Error()
}

// load loads all records of a channel.
func (l Loader) load(x *List, loaded func(ci uint32)) (err error) {
	ci := uint32(0)
	for x.First(); x.Valid(); x.Next() {
		if ci, err = l.record(ci, x.ID, x.Key()[len(x.ID)+2:], x.Key(), x.Value()); err != nil {
			return fmt.Errorf("record %q: %w", x.Key(), err)
		}
	}
	if ci == 0 {
		return nil
	}
	if err := l.complete(ci, l.Channels.At(ci)); err != nil {
		return err
	}
	loaded(ci)
	return nil
}

// read reads the records of a channel. It returns false for a channel that has to be loaded: in which
// something may wait, which is large, which counts in the totals of the state, or whose records are
// not complete, which loading reports.
func (s *skimmer) read() bool {
	const resting = state.ChannelLarge | state.ChannelReposted
	x, rest := &s.list, len(s.list.ID)+2
	if x.First(); x.Key()[rest] != keys.HotChannel || len(x.Key()) != rest+1 {
		return false
	}
	r := wire.Reader{B: x.Value()}
	flags := r.Byte()
	head, pos := r.U32(), r.U32()
	r.U32() // the newest counted message
	r.U32() // the floor
	present, ords := r.U32(), r.U32()
	s.large, s.lastM = flags&state.ChannelLarge != 0, int64(r.Uvarint())
	if r.Err != nil || flags&^resting != 0 || s.lastM == 0 || head != pos || ords > MaxResting {
		return false
	}
	s.members = s.members[:0]
	for page := uint32(0); x.Next(); page++ {
		k := x.Key()[rest:]
		if len(k) != 5 || k[0] != keys.HotPage || binary.BigEndian.Uint32(k[1:]) != page {
			return false
		}
		n := uint32(0)
		for rd := (wire.Reader{B: x.Value()}); len(rd.B) > 0; n++ {
			id := rd.Bytes()
			if probe := rd; len(id) == 0 || !records.SkipRow(&probe) {
				return false // it is corrupt, or has rare parts
			}
			var row state.Row
			if records.ReadRow(&rd, &row, &s.State); rd.Err != nil {
				return false
			}
			if row.Flags&state.RowMember != 0 {
				present--
			}
			s.members = append(s.members, member{id, row.LastR, row.LastD})
		}
		if n != min(keys.PageLen, ords-page*keys.PageLen) {
			return false
		}
	}
	return uint32(len(s.members)) == ords && present == 0 //nolint:gosec // at most MaxResting
}

// note notes the channel that read has read.
func (s *skimmer) note() {
	x := &s.list
	for i := range x.Len() {
		s.Written.Hot.Add(keys.RecordHash(x.part(2*i), x.part(2*i+1)))
	}
	s.warm()
	ref := s.Cold.Leaves(x.ID, s.large, true, s.lastM)
	for i := range s.members {
		m := &s.members[i]
		u := s.EnsureUser(m.id)
		s.Cold.RowLeaves(ref, true, m.lastR, m.lastD)
		s.Cold.List(&s.Users.At(u).Cold, ref)
	}
}

// warm touches the users of the members, like the functions of warm.go.
func (s *skimmer) warm() {
	if s.Users.Unused() {
		return
	}
	s.hashes = s.hashes[:0]
	sum := uint64(0)
	for i := range s.members {
		hash := state.IDHash(s.members[i].id)
		s.hashes = append(s.hashes, hash)
		sum += s.UserTable.Peek(hash)
	}
	for _, hash := range s.hashes {
		sum += uint64(s.Users.At(s.UserTable.First(hash)).ShortLen)
	}
	s.Warmth.Sum = sum
}
