package events

import (
	"errors"
	"strconv"
	"unicode/utf8"
)

// Reason is a word for why a record is bad. It is the header `reason` of its dead letter and a
// metric's label.
type Reason string

// The reasons. All except ReasonNewerVersion make a dead letter; that one stops the partition.
const (
	ReasonEmptyValue     Reason = "empty_value"     // no value (a tombstone), or one of no bytes
	ReasonTooLarge       Reason = "too_large"       // a value of more than MaxValueBytes
	ReasonUndecodable    Reason = "undecodable"     // neither Protobuf nor JSON of this schema, or text that is not UTF-8
	ReasonNoKind         Reason = "no_kind"         // no member of `kind` that this build knows
	ReasonInvalidID      Reason = "invalid_id"      // a required id is missing, or one is too long or has control characters
	ReasonNoTarget       Reason = "no_target"       // names nothing: an unset target, or a list without ids
	ReasonZeroSeq        Reason = "zero_seq"        // seqs count from 1
	ReasonInvalidCount   Reason = "invalid_count"   // messages_seeded with no message, or more than MaxSeeded
	ReasonInvalidTime    Reason = "invalid_time"    // before 1970, after 9999, or nanoseconds out of range
	ReasonInvalidLevel   Reason = "invalid_level"   // notify_set with a level that the schema does not have
	ReasonInvalidLabel   Reason = "invalid_label"   // a label is empty, longer than MaxLabelBytes, or has control characters
	ReasonTooMany        Reason = "too_many"        // more than MaxLabels labels, or than MaxListed ids in a limited list
	ReasonWrongPartition Reason = "wrong_partition" // the channel belongs to another partition
	ReasonTooManyHeld    Reason = "too_many_held"   // beyond the held events of a user (DESIGN §4.3); decided by the fold
	ReasonChannelFull    Reason = "channel_full"    // the channel has the maximum number of messages; decided by the fold
	ReasonNewerVersion   Reason = "newer_version"   // min_version is above Version, or the record has an unfolded part
)

// LetterReasons are the reasons that make a dead letter, in the order above.
var LetterReasons = []Reason{
	ReasonEmptyValue, ReasonTooLarge, ReasonUndecodable, ReasonNoKind, ReasonInvalidID, ReasonNoTarget, ReasonZeroSeq,
	ReasonInvalidCount, ReasonInvalidTime, ReasonInvalidLevel, ReasonInvalidLabel, ReasonTooMany, ReasonWrongPartition,
	ReasonTooManyHeld, ReasonChannelFull,
}

// ErrNewerVersion is in the error of a record that needs a newer build (see Version). Such a record
// must not be skipped: that would be silent loss.
var ErrNewerVersion = errors.New("events: record needs a newer version of Tidemark")

// Error explains why a record is bad. It is safe to log: it never contains a preview, and at most
// the quoted start of an id.
type Error struct {
	Reason Reason
	Field  string // path of the field in snake_case, such as message_posted.mentions[3]; empty: the whole value
	Detail string // what is wrong with it and what would be right
}

// Error joins reason, field and detail.
func (e *Error) Error() string {
	s := "bad event: " + string(e.Reason)
	if e.Field != "" {
		s += ": " + e.Field
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Is makes errors.Is(err, ErrNewerVersion) true for that reason.
func (e *Error) Is(target error) bool {
	return target == ErrNewerVersion && e.Reason == ReasonNewerVersion
}

// ReasonOf returns the reason of a bad record's error, or "" for any other error.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// quotedBytes is how much of an id an error shows.
const quotedBytes = 48

// quote shows the start of an id in ASCII, so that it can neither break a log line nor flood it.
func quote(id []byte) string {
	if len(id) <= quotedBytes {
		return strconv.QuoteToASCII(string(id))
	}
	cut := quotedBytes
	for cut > 0 && !utf8.RuneStart(id[cut]) {
		cut--
	}
	return strconv.QuoteToASCII(string(id[:cut])) + "..."
}
