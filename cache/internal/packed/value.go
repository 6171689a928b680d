package packed

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark/tidemark/events"
)

// Version is the first byte of a value. JSON begins with a brace, so a reader tells both apart.
const Version = 1

// Flags of a value: the fields that follow, in this order. The flags of a usual pair fit in one
// byte.
const (
	large = 1 << iota
	hasMentions
	hasFirst
	hasLatest
	hasOffline
	hasReadPos
	hasTouched
	hasExcluded
	hasMentioned
	hasDirect
	hasFirstMention
	hasLevel
	ignoreAll
	flagged
	hasFiled
	hasLine
	hasLabels
	ask
	endOfFlags
)

// Is reports whether a value is packed, in any version. JSON and all other texts begin with a
// printable character.
func Is(value string) bool { return value != "" && value[0] < ' ' }

// AppendValue appends the value of a user in a channel or thread. It has the same content as the
// JSON of package entry.
func AppendValue(b []byte, d *events.UnreadDelta) []byte {
	level := d.ChosenLevel()
	flags := uint64(0)
	for _, f := range [...]struct {
		bit uint64
		is  bool
	}{
		{large, d.Large}, {hasMentions, d.Mentions > 0}, {hasFirst, !d.Large && len(d.FirstUnread.MessageID) > 0},
		{hasLatest, !d.Large && d.Latest.Seq > 0}, {hasOffline, d.OfflineUnread > 0}, {hasReadPos, d.ReadPos > 0},
		{hasTouched, len(d.ThreadID) > 0 && d.TouchedAt > 0}, {hasExcluded, len(d.Excluded) > 0}, {hasMentioned, len(d.Mentioned) > 0},
		{hasDirect, d.DirectMentions > 0}, {hasFirstMention, len(d.FirstMention.MessageID) > 0 || d.FirstMention.Seq > 0},
		{hasLevel, level != events.LevelAll || d.Until > 0}, {ignoreAll, d.IgnoreAll}, {flagged, d.Flagged}, {hasFiled, d.Filed.Is},
		{hasLine, len(d.Line.MessageID) > 0 || d.Line.Seq > 0}, {hasLabels, len(d.Labels) > 0}, {ask, d.Ask},
	} {
		if f.is {
			flags |= f.bit
		}
	}
	b = binary.AppendUvarint(append(b, Version), flags)
	b = appendUint(b, d.Stamp.FoldVersion)
	b = appendOffset(appendOffset(appendOffset(b, d.Stamp.M), d.Stamp.R), d.Stamp.D)
	b = appendUint(appendUint(b, d.ReadEpoch), d.LastRead.Seq)
	if !d.Large {
		b = appendUint(b, d.Unread)
	}
	if flags&hasMentions != 0 {
		b = appendUint(b, d.Mentions)
	}
	if flags&hasFirst != 0 {
		b = appendID(b, d.FirstUnread.MessageID)
	}
	if flags&hasLatest != 0 {
		b = binary.AppendVarint(appendUint(b, d.Latest.Seq), d.Latest.At)
	}
	if flags&hasOffline != 0 {
		b = appendUint(b, d.OfflineUnread)
	}
	if flags&hasReadPos != 0 {
		b = appendUint(b, d.ReadPos)
	}
	if flags&hasTouched != 0 {
		b = binary.AppendVarint(b, d.TouchedAt)
	}
	if flags >= hasExcluded {
		b = appendSettings(b, d, flags, level)
	}
	return b
}

// appendSettings appends the fields that few values have.
func appendSettings(b []byte, d *events.UnreadDelta, flags uint64, level events.Level) []byte {
	if flags&hasExcluded != 0 {
		b = appendPositions(b, d.Excluded)
	}
	if flags&hasMentioned != 0 {
		b = appendPositions(b, d.Mentioned)
	}
	if flags&hasDirect != 0 {
		b = appendUint(b, d.DirectMentions)
	}
	if flags&hasFirstMention != 0 {
		b = appendUint(appendID(b, d.FirstMention.MessageID), d.FirstMention.Seq)
	}
	if flags&hasLevel != 0 {
		after := events.LevelAll
		if d.Until > 0 {
			after = d.LevelAfter
		}
		b = appendOffset(append(b, byte(level)|byte(after)<<2), max(d.Until, 0))
	}
	if flags&hasFiled != 0 {
		pos := 2 * uint64(d.Filed.Pos)
		if d.Filed.Keep {
			pos++
		}
		b = binary.AppendUvarint(b, pos)
	}
	if flags&hasLine != 0 {
		b = appendUint(appendID(b, d.Line.MessageID), d.Line.Seq)
	}
	if flags&hasLabels != 0 {
		b = appendLabels(b, d.Labels)
	}
	return b
}

// DecodeValue decodes the result of AppendValue into d, except for the ids of user, channel and
// thread. The ids of d may point into value.
func DecodeValue(value []byte, d *events.UnreadDelta) error {
	in, err := begin(value, endOfFlags)
	if err != nil {
		return err
	}
	flags := in.flags
	d.Large = flags&large != 0
	d.Stamp = events.Stamp{FoldVersion: in.uint32(), M: in.offset(), R: in.offset(), D: in.offset()}
	d.ReadEpoch, d.LastRead.Seq = in.uint32(), in.uint32()
	if !d.Large {
		d.Unread = in.uint32()
	}
	if flags&hasMentions != 0 {
		d.Mentions = in.uint32()
	}
	if flags&hasFirst != 0 {
		d.FirstUnread.MessageID = in.id()
	}
	if flags&hasLatest != 0 {
		d.Latest.Seq, d.Latest.At = in.uint32(), in.time()
	}
	if flags&hasOffline != 0 {
		d.OfflineUnread = in.uint32()
	}
	if flags&hasReadPos != 0 {
		d.ReadPos = in.uint32()
	}
	if flags&hasTouched != 0 {
		d.TouchedAt = in.time()
	}
	if flags >= hasExcluded {
		in.settings(d)
	}
	return in.end()
}

func (in *body) settings(d *events.UnreadDelta) {
	flags := in.flags
	if flags&hasExcluded != 0 {
		d.Excluded = in.positions(d.Excluded[:0])
	}
	if flags&hasMentioned != 0 {
		d.Mentioned = in.positions(d.Mentioned[:0])
	}
	if flags&hasDirect != 0 {
		d.DirectMentions = in.uint32()
	}
	if flags&hasFirstMention != 0 {
		d.FirstMention = events.Ref{MessageID: in.id(), Seq: in.uint32()}
	}
	if flags&hasLevel != 0 {
		levels := in.uvarint()
		if level, after := levels&3, levels>>2; level >= uint64(events.NumLevels) || after >= uint64(events.NumLevels) {
			in.fail(fmt.Errorf("%d are no levels", levels))
		} else {
			d.Level, d.LevelAfter = events.Level(level), events.Level(after) //nolint:gosec // checked
		}
		d.Until = in.offset()
		d.Muted = d.Level == events.LevelNone
	}
	d.IgnoreAll, d.Flagged, d.Ask = flags&ignoreAll != 0, flags&flagged != 0, flags&ask != 0
	if flags&hasFiled != 0 {
		pos := in.uvarint()
		if pos >= 1<<33 {
			in.fail(fmt.Errorf("%d has more than 33 bits", pos))
		}
		d.Filed = events.Filed{Is: true, Keep: pos%2 != 0, Pos: uint32(pos / 2)} //nolint:gosec // checked
	}
	if flags&hasLine != 0 {
		d.Line = events.Ref{MessageID: in.id(), Seq: in.uint32()}
	}
	if flags&hasLabels != 0 {
		d.Labels = in.labels()
	}
}

// body is a value after its version and flags.
type body struct {
	input
	flags uint64
}

// begin decodes the version and the flags of a value. known is the lowest undefined flag.
func begin(value []byte, known uint64) (in body, err error) {
	if len(value) == 0 {
		return in, errShort
	}
	if value[0] != Version {
		return in, fmt.Errorf("packed value of version %d, and this build reads version %d: update the reader", value[0], Version)
	}
	in.b = value[1:]
	if in.flags = in.uvarint(); in.flags >= known {
		return in, fmt.Errorf("packed value with flags %#x, and this build knows those below %#x: update the reader", in.flags, known)
	}
	return in, in.err
}
