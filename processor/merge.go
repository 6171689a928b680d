package processor

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// item is one record with the input that it comes from.
type item struct {
	in  events.Input
	rec *kgo.Record
}

// merger hands out the records of a partition's inputs, the earliest timestamp first, each input in its own order, and
// at equal timestamps in the order of the inputs. Any order folds to the same state; this one holds the fewest reads
// that wait for their messages (DESIGN §6).
type merger struct {
	streams [events.NumInputs]stream
	wait    time.Duration // how long an input that is behind is waited for
}

// stream is what is at hand of one input.
type stream struct {
	chunks [][]*kgo.Record // non-empty; of the first, those before at are handed out
	at     int

	next  int64 // the offset after the last record that came in
	end   int64 // the known end of the log: while next is below it, more is on its way
	limit int64 // records from here on are held back

	waiting  bool      // since the time in since, for this stream
	since    time.Time // start of the wait
	deserted bool      // was waited for in vain: it is not waited for again until it has something
}

func newMerger(wait time.Duration) *merger {
	m := &merger{wait: wait}
	for i := range m.streams {
		m.streams[i].limit = math.MaxInt64
	}
	return m
}

// add takes in records of one input, with the end of the log as known when they were fetched. Records are in order of
// their offsets; those that came before are left out, and returned.
func (m *merger) add(in events.Input, records []*kgo.Record, end int64) (known []*kgo.Record) {
	s := &m.streams[in]
	s.end = max(s.end, end)
	first := 0
	for first < len(records) && records[first].Offset < s.next {
		first++
	}
	known, records = records[:first], records[first:]
	if len(records) == 0 {
		return known
	}
	s.next = records[len(records)-1].Offset + 1
	s.chunks = append(s.chunks, records)
	s.waiting, s.deserted = false, false
	return known
}

// head is the next record of the stream, nil if there is none or it is held back.
func (s *stream) head() *kgo.Record {
	if len(s.chunks) == 0 {
		return nil
	}
	if r := s.chunks[0][s.at]; r.Offset < s.limit {
		return r
	}
	return nil
}

func (s *stream) advance() {
	s.chunks[0][s.at] = nil // the fetch that it was part of can go piece by piece
	s.at++
	if s.at == len(s.chunks[0]) {
		s.chunks[0] = nil
		s.chunks = s.chunks[1:]
		s.at = 0
	}
}

// behind reports whether the stream has nothing at hand but will have.
func (s *stream) behind() bool { return len(s.chunks) == 0 && s.next < min(s.end, s.limit) }

// pick appends up to n items to batch. If it returns none although there are some, an input that is behind is waited
// for until the time it returns; else that is zero.
func (m *merger) pick(now time.Time, batch []item, n int) ([]item, time.Time) {
	for i := range m.streams {
		s := &m.streams[i]
		if !s.behind() || s.deserted || !m.any() {
			continue
		}
		if !s.waiting {
			s.waiting, s.since = true, now
		}
		if until := s.since.Add(m.wait); now.Before(until) {
			return batch, until
		}
		s.waiting, s.deserted = false, true
	}
	for n > 0 {
		first, second := m.earliest()
		if first < 0 {
			break
		}
		s := &m.streams[first]
		for n > 0 {
			r := s.head()
			if r == nil || !precedes(millisOf(r), first, second) {
				break
			}
			batch = append(batch, item{events.Input(first), r})
			s.advance()
			n--
		}
		if s.behind() && !s.deserted {
			break // the others wait for it, the next time
		}
	}
	return batch, time.Time{}
}

// rival is the head that the run of another stream must not overtake.
type rival struct {
	stream int // -1: none
	millis int64
}

// precedes reports whether a record of a stream goes before the rival.
func precedes(millis int64, stream int, r rival) bool {
	return r.stream < 0 || millis < r.millis || millis == r.millis && stream < r.stream
}

// earliest is the stream whose head goes next, -1 if there is none, and the next best.
func (m *merger) earliest() (int, rival) {
	first, second := rival{stream: -1}, rival{stream: -1}
	for i := range m.streams {
		r := m.streams[i].head()
		if r == nil {
			continue
		}
		ms := millisOf(r)
		switch {
		case precedes(ms, i, first):
			first, second = rival{i, ms}, first
		case precedes(ms, i, second):
			second = rival{i, ms}
		}
	}
	return first.stream, second
}

// any reports whether a record is at hand.
func (m *merger) any() bool {
	for i := range m.streams {
		if m.streams[i].head() != nil {
			return true
		}
	}
	return false
}

func millisOf(r *kgo.Record) int64 { return r.Timestamp.UnixMilli() }
