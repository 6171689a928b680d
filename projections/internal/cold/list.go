package cold

import "math/bits"

// list is a part of a user's list of channels that are cold or were. It may list a channel twice, or
// one in which the user has nothing any more.
type list struct {
	refs [perList]uint32 // indexes in Set.Channels, 0 = none
	next uint32
}

const perList = 7

// List adds a channel to the list that begins at first, a user's.
func (s *Set) List(first *uint32, ref uint32) {
	if *first != 0 {
		l := s.lists.At(*first)
		for i := range l.refs {
			if l.refs[i] == 0 {
				l.refs[i] = ref
				return
			}
		}
	}
	*first = s.lists.Push(list{refs: [perList]uint32{ref}, next: *first})
}

// Unlist removes a channel from a list.
func (s *Set) Unlist(first *uint32, ref uint32) {
	for at := *first; at != 0; at = s.lists.At(at).next {
		for i, listed := range s.lists.At(at).refs {
			if listed != ref {
				continue
			}
			newest := s.lists.At(*first)
			last := perList - 1
			for newest.refs[last] == 0 {
				last--
			}
			s.lists.At(at).refs[i] = newest.refs[last]
			newest.refs[last] = 0
			if last == 0 {
				gone := *first
				*first = newest.next
				s.lists.Release(gone)
			}
			return
		}
	}
}

// Each calls fn for each channel of a list that is cold, more than once for some.
func (s *Set) Each(first uint32, fn func(ref uint32, c *Channel)) {
	for at := first; at != 0; at = s.lists.At(at).next {
		for _, ref := range s.lists.At(at).refs {
			if ref == 0 {
				break
			}
			if c := s.Channels.At(ref); c.ID != 0 && c.Now == 0 {
				fn(ref, c)
			}
		}
	}
}

// Mark calls fn for each channel of a list that is cold, more than once for some. It returns 0 if
// there are none, else a hash of what they are: a channel that was in memory meanwhile changes it.
func (s *Set) Mark(first uint32, fn func(*Channel)) (mark uint64) {
	s.Each(first, func(ref uint32, c *Channel) {
		mark = (bits.RotateLeft64(mark, 23) ^ (uint64(ref)<<32 | uint64(c.Left))) * 0x9e3779b97f4a7c15 // a factor that mixes well
		mark |= 1
		fn(c)
	})
	return mark
}
