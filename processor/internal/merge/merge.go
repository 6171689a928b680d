package merge

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/projections"
)

// Item is one record with the input that it comes from.
type Item struct {
	In  events.Input
	Rec *kgo.Record
}

// Merger hands out the records of a partition's inputs: the earliest timestamp first, each input in
// its own order, and at equal timestamps in the order of the inputs. Any order folds to the same
// state; this one makes the fewest reads wait for their messages (DESIGN §6).
type Merger struct {
	streams [events.NumInputs]stream
	wait    time.Duration // how long to wait for an input that is behind
	decoder *batchDecoder // set once undecoded batches come in
	Batch   int           // how large one of them may be after decompression, in bytes; 0: inflate.DefaultBatch
}

// stream holds the fetched and not yet folded records of one input.
type stream struct {
	records []*kgo.Record // decoded; those before index at are handed out
	at      int           // below len(records) if any record is at hand
	memory  *batchMemory  // memory of records; nil if the client owns it
	chunks  []chunk       // the data after records
	err     error         // why the rest of chunks cannot be read

	taken int64 // bytes handed out or decoded since the last Taken
	next  int64 // the offset after the last record that came in
	end   int64 // the known end of the log: while next is below it, more records will come
	limit int64 // records from this offset on are held back

	waiting  bool      // other streams have waited for this one since the time in since
	since    time.Time // start of the wait
	deserted bool      // a wait for it was in vain: no more waits until it has records
}

// NewMerger creates a merger that waits for an input that is behind for at most wait.
func NewMerger(wait time.Duration) *Merger {
	m := &Merger{wait: wait}
	for i := range m.streams {
		m.streams[i].limit = math.MaxInt64
	}
	return m
}

// RecordOverhead is the memory of a fetched record besides its key and value, in bytes.
const RecordOverhead = 200

// RecordBytes returns the memory of a fetched record.
func RecordBytes(r *kgo.Record) int64 {
	return int64(len(r.Key)) + int64(len(r.Value)) + RecordOverhead
}

// Begin sets the offsets of the first records, and the ends of the logs.
func (m *Merger) Begin(from, ends projections.Position) {
	for i := range m.streams {
		m.streams[i].next, m.streams[i].end = from[i], ends[i]
	}
}

// Limit holds back the records from a position on; nil removes the limit.
func (m *Merger) Limit(until *projections.Position) {
	for i := range m.streams {
		m.streams[i].limit = math.MaxInt64
		if until != nil {
			m.streams[i].limit = until[i]
		}
	}
}

// End is the known end of an input's log.
func (m *Merger) End(in events.Input) int64 { return m.streams[in].end }

// RaiseEnd sets a newer end of an input's log.
func (m *Merger) RaiseEnd(in events.Input, end int64) {
	m.streams[in].end = max(m.streams[in].end, end)
}

// Passed reports whether all records of an input before offset goal are handed out: the next
// record, or the end of the fetched ones, is at goal or beyond it. Offsets between the last record
// and goal are gone from the log.
func (m *Merger) Passed(in events.Input, goal int64) bool {
	s := &m.streams[in]
	return s.atHand() && s.head() == nil || s.allOut() && s.next >= goal
}

// Add adds records of one input, in the order of their offsets, with the end of the log at the time
// of the fetch. It leaves out records that came before, and returns those.
func (m *Merger) Add(in events.Input, records []*kgo.Record, end int64) (known []*kgo.Record) {
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
	m.append(s, chunk{records: records})
	return known
}

// AddBatches is Add for undecoded batches: the whole log from the end of the last ones up to next.
func (m *Merger) AddBatches(in events.Input, of Source, batches []byte, next, end int64) {
	s := &m.streams[in]
	s.end = max(s.end, end)
	if m.decoder == nil {
		m.decoder = newBatchDecoder(cmp.Or(m.Batch, inflate.DefaultBatch))
	}
	first := s.next
	s.next = max(s.next, next)
	m.append(s, chunk{batches: batches, of: of, from: first})
}

func (m *Merger) append(s *stream, c chunk) {
	s.chunks = append(s.chunks, c)
	s.waiting, s.deserted = false, false
	if s.at == len(s.records) {
		m.load(s)
	}
}

// load makes the next records available, if there are any. All previous ones are handed out.
func (m *Merger) load(s *stream) {
	s.records, s.at = nil, 0
	m.leave(s)
	for len(s.chunks) > 0 && len(s.records) == 0 && s.err == nil {
		m.leave(s) // a batch without records
		c := &s.chunks[0]
		if s.records = c.records; c.records == nil {
			var n int
			s.records, s.memory, n, s.err = m.decoder.next(c)
			s.taken += int64(n)
		}
		if c.records != nil || len(c.batches) == 0 {
			*c = chunk{}
			s.chunks = s.chunks[1:]
		}
	}
}

func (m *Merger) leave(s *stream) {
	if s.memory != nil {
		m.decoder.leave(s.memory)
		s.memory = nil
	}
}

// Taken returns how many bytes of each input were handed out since the last call, and why an input
// cannot be read further.
func (m *Merger) Taken() (bytes [events.NumInputs]int64, err error) {
	for i := range m.streams {
		s := &m.streams[i]
		bytes[i], s.taken = s.taken, 0
		if s.at == len(s.records) && s.err != nil {
			err = s.err
		}
	}
	return bytes, err
}

// head returns the next record of the stream, or nil if there is none or it is held back.
func (s *stream) head() *kgo.Record {
	if s.at == len(s.records) {
		return nil
	}
	if r := s.records[s.at]; r.Offset < s.limit {
		return r
	}
	return nil
}

// advance moves to the record after the head.
func (m *Merger) advance(s *stream) {
	if s.memory == nil {
		s.taken += RecordBytes(s.records[s.at])
	}
	s.records[s.at] = nil // so that the memory of its fetch can be freed piece by piece
	s.at++
	if s.at == len(s.records) {
		m.load(s)
	}
}

// atHand reports whether decoded records are left, even if they are held back.
func (s *stream) atHand() bool { return s.at < len(s.records) }

// undecoded reports whether batches came in whose records are not all handed out.
func (m *Merger) undecoded() bool {
	return slices.ContainsFunc(m.streams[:], func(s stream) bool {
		return s.memory != nil || len(s.chunks) > 0 && s.chunks[0].batches != nil
	})
}

// allOut reports whether all that came in is handed out.
func (s *stream) allOut() bool { return !s.atHand() && s.err == nil }

// behind reports whether the stream has no decoded records but will have some.
func (s *stream) behind() bool { return !s.atHand() && s.next < min(s.end, s.limit) }

// Pick appends up to n items to batch. Their records are valid until the next call. If Pick returns
// none although there are some, it waits for an input that is behind until the returned time, which
// is otherwise zero.
func (m *Merger) Pick(now time.Time, batch []Item, n int) ([]Item, time.Time) {
	if m.decoder != nil {
		m.decoder.reuse()
	}
	for i := range m.streams {
		s := &m.streams[i]
		if !s.behind() || s.deserted || !m.Any() {
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
	for n > 0 && !m.decoder.full() {
		first, second := m.earliest()
		if first < 0 {
			break
		}
		s := &m.streams[first]
		for n > 0 && !m.decoder.full() {
			r := s.head()
			if r == nil || !precedes(MillisOf(r), first, second) {
				break
			}
			batch = append(batch, Item{events.Input(first), r})
			m.advance(s)
			n--
		}
		if s.behind() && !s.deserted {
			break // the others wait for this stream in the next call
		}
	}
	return batch, time.Time{}
}

// rival is the head that the run of another stream must not overtake.
type rival struct {
	stream int // -1: none
	millis int64
}

// Rest gives up memory for decoding that has not been used for a second. It returns when to call it
// again, or zero if there is no such memory. Records from Pick are no longer valid.
func (m *Merger) Rest(now time.Time) time.Time {
	if m.decoder == nil {
		return time.Time{}
	}
	return m.decoder.rest(now, m.undecoded())
}

// precedes reports whether a record of a stream goes before the rival.
func precedes(millis int64, stream int, r rival) bool {
	return r.stream < 0 || millis < r.millis || millis == r.millis && stream < r.stream
}

// earliest returns the stream whose head goes next, or -1, and the next best one.
func (m *Merger) earliest() (int, rival) {
	first, second := rival{stream: -1}, rival{stream: -1}
	for i := range m.streams {
		r := m.streams[i].head()
		if r == nil {
			continue
		}
		ms := MillisOf(r)
		switch {
		case precedes(ms, i, first):
			first, second = rival{i, ms}, first
		case precedes(ms, i, second):
			second = rival{i, ms}
		}
	}
	return first.stream, second
}

// Any reports whether a record is at hand.
func (m *Merger) Any() bool {
	for i := range m.streams {
		if m.streams[i].head() != nil {
			return true
		}
	}
	return false
}

// MillisOf returns the timestamp of a record in Unix milliseconds, the key of the merge.
func MillisOf(r *kgo.Record) int64 { return r.Timestamp.UnixMilli() }
