package records

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// Parts of a row record, in its first byte.
const (
	recMember = 1 << iota
	recMuted
	recPointer
	recOwn
	recMarks
	recRead
	recDelivery
	recMore
)

// Rare parts of a row record, in a byte of their own.
const (
	recPublic = 1 << iota
	recFar
	recSettings
	recOwnRead
)

// AppendRow encodes a row without its user, and leaves out parts without content. all is State.Whole of
// the row, and x its extra, or nil.
func AppendRow(b []byte, r *state.Row, all *state.Rare, x *state.PairExtra) []byte {
	at := len(b)
	b = append(b, 0)
	b = binary.AppendUvarint(b, uint64(r.Baseline))
	f := byte(0)
	if r.Flags&state.RowMember != 0 {
		f |= recMember
	}
	if r.Flags&state.RowMuted != 0 {
		f |= recMuted
	}
	if r.Pointer != 0 || r.At() != 0 || r.Event() != 0 {
		f |= recPointer
		b = binary.AppendUvarint(b, uint64(r.Pointer))
		b = binary.AppendVarint(b, r.At())
		b = binary.AppendUvarint(b, uint64(r.Event()))
	}
	if r.LastOwn != 0 || all.OwnFloor != 0 {
		f |= recOwn
		b = binary.AppendUvarint(b, uint64(r.LastOwn))
		b = binary.AppendUvarint(b, uint64(all.OwnFloor))
		b = binary.AppendVarint(b, r.OwnAt())
	}
	if all.Marks != 0 {
		f |= recMarks
		b = binary.AppendUvarint(b, uint64(all.Marks))
	}
	if all.LastR != 0 {
		f |= recRead
		b = binary.AppendVarint(b, all.LastR-r.Event()>>1)
	}
	if all.LastD != 0 {
		f |= recDelivery
		b = binary.AppendUvarint(b, uint64(all.LastD))
	}
	more := byte(0)
	if all.Public != r.Pointer || all.PublicAt != r.At() {
		more |= recPublic
	}
	if all.Far != r.Pointer {
		more |= recFar
	}
	if x != nil && x.Read != nil {
		more |= recOwnRead
	}
	if x != nil && x.Settings != nil && !x.Settings.PlainRow() {
		more |= recSettings
	}
	if more != 0 {
		f |= recMore
		b = append(b, more)
	}
	if more&recPublic != 0 {
		b = binary.AppendUvarint(b, uint64(all.Public))
		b = binary.AppendVarint(b, all.PublicAt)
	}
	if more&recFar != 0 {
		b = binary.AppendUvarint(b, uint64(all.Far))
	}
	if more&recOwnRead != 0 {
		b = binary.AppendVarint(binary.AppendUvarint(b, uint64(x.Read.Seq)), x.Read.At)
	}
	if more&recSettings != 0 {
		b = appendSettings(b, x.Settings)
	}
	b[at] = f
	return b
}

// readTime reads a time of a row. It sets r.Err if the time is outside of 0 to state.MaxTime.
func readTime(r *wire.Reader) int64 {
	t := r.Varint()
	if (t < 0 || t > state.MaxTime) && r.Err == nil {
		r.Err = fmt.Errorf("a time is %d, which cannot be", t)
	}
	return t
}

// ReadRow decodes a row of p.
func ReadRow(r *wire.Reader, to *state.Row, p *state.State) {
	f, all := r.Byte(), state.Rare{}
	to.Baseline = r.U32()
	if f&recMember != 0 {
		to.Flags |= state.RowMember
	}
	if f&recMuted != 0 {
		to.Flags |= state.RowMuted
	}
	if f&recPointer != 0 {
		pointer, at, event := r.U32(), readTime(r), r.Uvarint()
		if event > state.MaxEvent && r.Err == nil {
			r.Err = fmt.Errorf("the pointer was put there by record %d, which cannot be", event>>1)
		}
		to.Place(pointer, at, int64(event))
	}
	if f&recOwn != 0 {
		seq := r.U32()
		all.OwnFloor = r.U32()
		to.SetOwn(seq, readTime(r))
	}
	if f&recMarks != 0 {
		all.Marks = r.U32()
	}
	if f&recRead != 0 {
		all.LastR = r.Varint() + to.Event()>>1
	}
	if f&recDelivery != 0 {
		all.LastD = int64(r.Uvarint())
	}
	more := byte(0)
	if f&recMore != 0 {
		more = r.Byte()
	}
	all.Public, all.PublicAt, all.Far = to.Pointer, to.At(), to.Pointer
	if more&recPublic != 0 {
		all.Public, all.PublicAt = r.U32(), r.Varint()
	}
	if more&recFar != 0 {
		all.Far = r.U32()
	}
	if more&recOwnRead != 0 {
		p.EnsurePairExtra(to).Read = &state.OwnPost{Seq: r.U32(), At: r.Varint()}
	}
	if more&recSettings != 0 {
		readSettings(r, p.LoadSettings(to), p.Settings.TrimLog)
	} else if s := p.ExtraSettings(to); s != nil && f&recMuted != 0 {
		s.Lasting = events.LevelNone // the record of the line and labels was read first
	}
	p.SetWhole(to, all)
}

// SkipRow skips a row. It returns false for a row with rare parts, where it stops within the row.
func SkipRow(r *wire.Reader) bool {
	f := r.Byte()
	r.SkipNumbers(int(rowNumbers[f]))
	return skipMore(r, f)
}

// SkipRows returns how many rows with their users a page has. It returns false if the page is corrupt
// or one of the rows has rare parts. Opening a store calls it for every page, so it does without a
// Reader for each field: SkipRow takes four times as long.
func SkipRows(page []byte) (rows uint32, ok bool) {
	for b := page; len(b) > 0; rows++ {
		at, user := 1, int(b[0])
		if user >= 0x80 { // its length has two bytes or more
			r := wire.Reader{B: b}
			user = len(r.Bytes())
			at = len(b) - len(r.B) - user
		}
		if at += user; user == 0 || at >= len(b) {
			return 0, false
		}
		f := b[at]
		at++
		for n := rowNumbers[f]; n > 0; at++ {
			if at == len(b) {
				return 0, false
			}
			if b[at] < 0x80 {
				n--
			}
		}
		r := wire.Reader{B: b[at:]}
		if f&recMore != 0 && (!skipMore(&r, f) || r.Err != nil) {
			return 0, false
		}
		b = r.B
	}
	return rows, true
}

// Skimmed is what memory keeps of the row of a cold channel.
type Skimmed struct {
	Member       bool // is present
	LastR, LastD int64
}

// SkimRow skips a row like SkipRow, and returns what memory keeps of it.
func SkimRow(r *wire.Reader) (s Skimmed, ok bool) {
	f := r.Byte()
	s.Member = f&recMember != 0
	r.SkipNumbers(1)
	event := int64(0)
	if f&recPointer != 0 {
		r.SkipNumbers(2)
		event = int64(r.Uvarint())
	}
	r.SkipNumbers(int(rowNumbers[f&(recOwn|recMarks)]) - 1)
	if f&recRead != 0 {
		s.LastR = r.Varint() + event>>1
	}
	if f&recDelivery != 0 {
		s.LastD = int64(r.Uvarint())
	}
	return s, skipMore(r, f)
}

// skipMore skips the parts of a row behind the numbers of its first byte f.
func skipMore(r *wire.Reader, f byte) bool {
	if f&recMore == 0 {
		return true
	}
	more := r.Byte()
	if more&(recOwnRead|recSettings) != 0 {
		return false
	}
	if more&recPublic != 0 {
		r.SkipNumbers(2)
	}
	if more&recFar != 0 {
		r.SkipNumbers(1)
	}
	return true
}

// rowNumbers has how many numbers follow the first byte of a row, by that byte.
var rowNumbers = func() (all [256]byte) {
	for f := range all {
		n := byte(1)
		for part, numbers := range map[byte]byte{recPointer: 3, recOwn: 3, recMarks: 1, recRead: 1, recDelivery: 1} {
			if byte(f)&part != 0 {
				n += numbers
			}
		}
		all[f] = n
	}
	return all
}()

// AppendFollow encodes a follow. It includes the times only of an explicit follow, and what was
// decided of it only if the log ends.
func AppendFollow(b []byte, f *state.Follow, ends bool) []byte {
	b = append(b, f.Flags)
	b = binary.AppendUvarint(b, uint64(f.Auto))
	if f.Flags&state.FollowExplicit != 0 {
		b = binary.AppendVarint(b, f.ExplicitTime)
		b = binary.AppendVarint(b, f.ExplicitHorizon)
		b = binary.AppendVarint(b, f.ExplicitAt)
		if ends {
			b = binary.AppendVarint(b, f.ExplicitNow)
			b = binary.AppendUvarint(b, uint64(f.Closed))
		}
	}
	return b
}

// ReadFollow decodes a follow.
func ReadFollow(r *wire.Reader, f *state.Follow, ends bool) {
	f.Flags, f.Auto = r.Byte(), r.U32()
	if f.Flags&state.FollowExplicit != 0 {
		f.ExplicitTime, f.ExplicitHorizon, f.ExplicitAt = r.Varint(), r.Varint(), r.Varint()
		if ends {
			f.ExplicitNow, f.Closed = r.Varint(), r.U32()
		}
	}
}
