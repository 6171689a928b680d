package records

import (
	"encoding/binary"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// Bits of the first byte of a user's settings: two bits each for the lasting and the timed level,
// then these.
const (
	settingsIgnoreAll = 1 << (4 + iota)
	settingsUntil
	settingsFlag
	settingsFiled
)

// appendSettings encodes a user's settings of a channel, except for the parts that AppendMarkers
// encodes.
func appendSettings(b []byte, s *state.UserSettings) []byte {
	at, f := len(b), byte(s.Lasting)|byte(s.Timed)<<2
	b = append(b, 0)
	if s.IgnoreAll {
		f |= settingsIgnoreAll
	}
	if s.Until != 0 {
		f |= settingsUntil
		b = binary.AppendUvarint(b, uint64(s.Until))
	}
	if s.Flag.Is {
		f |= settingsFlag
		b = appendSince(b, &s.Flag)
	}
	if s.Filed.Is {
		f |= settingsFiled
		b = appendSince(wire.AppendBool(b, s.Filed.Keep), &s.Filed.Since)
	}
	b[at] = f
	return b
}

// appendSince encodes a head, or 0 and a time, with the event's log time if the log ends.
func appendSince(b []byte, s *state.Since) []byte {
	b = binary.AppendUvarint(b, uint64(s.HeadSeq))
	if s.HeadSeq != 0 {
		return b
	}
	b = binary.AppendVarint(binary.AppendVarint(b, s.At), s.Horizon-s.At)
	if s.Ends {
		b = binary.AppendVarint(b, s.Now-s.At)
	}
	return b
}

func readSince(r *wire.Reader, ends bool) state.Since {
	s := state.Since{Is: true, HeadSeq: r.U32()}
	if s.HeadSeq == 0 {
		s.At = r.Varint()
		s.Horizon = s.At + r.Varint()
		if s.Ends = ends; ends {
			s.Now = s.At + r.Varint()
		}
	}
	return s
}

func readSettings(r *wire.Reader, s *state.UserSettings, ends bool) {
	f := r.Byte()
	s.Lasting, s.Timed, s.IgnoreAll = events.Level(f&3), events.Level(f>>2&3), f&settingsIgnoreAll != 0
	if f&settingsUntil != 0 {
		s.Until = int64(r.Uvarint())
	}
	if f&settingsFlag != 0 {
		s.Flag = readSince(r, ends)
	}
	if f&settingsFiled != 0 {
		keep := r.Byte() != 0
		s.Filed = state.File(readSince(r, ends), keep)
	}
}

// AppendMarkers encodes the line and the labels of a pair, or nothing if there are none.
func AppendMarkers(b []byte, s *state.UserSettings) []byte {
	if s == nil || s.PlainRest() {
		return b
	}
	b = binary.AppendUvarint(b, uint64(s.Line.Seq))
	b = wire.AppendBytes(b, []byte(s.Line.ID))
	return AppendLabels(b, s.Labels)
}

// ReadMarkers decodes the line and the labels of a pair.
func ReadMarkers(r *wire.Reader, s *state.UserSettings) {
	s.Line.Seq = r.U32()
	s.Line.ID = string(r.Bytes())
	s.Labels = ReadLabels(r)
}

// AppendLabels encodes a set of labels.
func AppendLabels(b []byte, labels []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(labels)))
	for _, l := range labels {
		b = wire.AppendBytes(b, []byte(l))
	}
	return b
}

// ReadLabels decodes a set of labels.
func ReadLabels(r *wire.Reader) (labels []string) {
	for n := r.Uvarint(); n > 0 && r.Err == nil; n-- {
		labels = append(labels, string(r.Bytes()))
	}
	return labels
}

// AppendHiddenTo appends the message up to which a user hid everything, or nothing.
func AppendHiddenTo(b []byte, h *state.Hidden) []byte {
	if h.To == 0 {
		return b
	}
	return binary.AppendUvarint(b, uint64(h.To))
}
