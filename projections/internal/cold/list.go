package cold

import "math/bits"

// list is a part of a user's list of channels that are cold or were. It may list a channel twice, or
// one in which the user has nothing any more. Users whose ids have the same 32-bit tag share a
// list. Only the first part has free places.
type list struct {
	refs [perList]uint32 // indexes in Set.Channels, 0 = none
	next uint32
}

const perList = 3

// first returns the first part of a user's list, or 0.
func (s *Set) first(user uint64) uint32 {
	return s.users.Find(user, func(uint32) bool { return true })
}

// List adds a channel to the list of the user with a hash. It reports whether the user had no list.
func (s *Set) List(user uint64, ref uint32) (first bool) {
	at := s.first(user)
	if at == 0 {
		s.users.Insert(user, s.lists.Push(list{refs: [perList]uint32{ref}}))
		s.UserCount++
		return true
	}
	l := s.lists.At(at)
	for i := range l.refs {
		if l.refs[i] == 0 {
			l.refs[i] = ref
			return false
		}
	}
	full := s.lists.Push(*l)
	*l = list{refs: [perList]uint32{ref}, next: full}
	return false
}

// Unlist removes a channel from a user's list. It reports whether the user has no list any more.
func (s *Set) Unlist(user uint64, ref uint32) (last bool) {
	first := s.first(user)
	for at := first; at != 0; at = s.lists.At(at).next {
		for i, listed := range s.lists.At(at).refs {
			if listed != ref {
				continue
			}
			newest := s.lists.At(first)
			end := perList - 1
			for newest.refs[end] == 0 {
				end--
			}
			s.lists.At(at).refs[i] = newest.refs[end]
			newest.refs[end] = 0
			return end == 0 && s.shorten(user, first)
		}
	}
	return false
}

// shorten removes the first part of a list, which is empty. It reports whether that was the list.
func (s *Set) shorten(user uint64, first uint32) bool {
	next := s.lists.At(first).next
	if next == 0 {
		s.users.Remove(user, first)
		s.lists.Release(first)
		s.UserCount--
		return true
	}
	*s.lists.At(first) = *s.lists.At(next)
	s.lists.Release(next)
	return false
}

// Each calls fn for each channel of a user's list that is cold, more than once for some.
func (s *Set) Each(user uint64, fn func(ref uint32, c *Channel)) {
	for at := s.first(user); at != 0; at = s.lists.At(at).next {
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

// Mark calls fn for each channel of a user's list that is cold, more than once for some. It returns 0
// if there are none, else a hash of what they are: a channel that was in memory meanwhile changes it.
func (s *Set) Mark(user uint64, fn func(*Channel)) (mark uint64) {
	s.Each(user, func(ref uint32, c *Channel) {
		mark = (bits.RotateLeft64(mark, 23) ^ (uint64(ref)<<32 | uint64(c.Left))) * 0x9e3779b97f4a7c15 // a factor that mixes well
		mark |= 1
		fn(c)
	})
	return mark
}

// Touch loads the places in memory from which List begins, for several users.
func (s *Set) Touch(users []uint64) (sum uint64) {
	for _, user := range users {
		sum += s.users.Peek(user)
	}
	if s.lists.Unused() {
		return sum
	}
	for _, user := range users {
		sum += uint64(s.lists.At(s.users.First(user)).next)
	}
	return sum
}
