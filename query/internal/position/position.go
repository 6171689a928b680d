// Package position reads and writes the tokens of as_of and after, which name records of the input
// topics: how far an answer reaches, and how far it must reach.
//
//	position.go   tokens, and the requirement of an after for each partition
package position

import (
	"maps"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/codec"
	"github.com/tidemark/tidemark/query/internal/fault"
)

// maxUnknown limits `after` while the partition count is unknown.
const maxUnknown = 3 * 4096

// Topics are the names of the input topics, by input.
type Topics [events.NumInputs]string

// Input returns the input with a name.
func (t *Topics) Input(name string) (events.Input, bool) {
	for in, n := range t {
		if n == name {
			return events.Input(in), true
		}
	}
	return 0, false
}

// Token returns "topic/partition/offset" of a record of an input topic.
func (t *Topics) Token(in events.Input, partition int32, offset int64) string {
	return events.RecordID{Topic: t[in], Partition: partition, Offset: offset}.String()
}

// AsOf appends the tokens of the last records that position v of a partition includes. An input of
// which nothing was folded has none.
func (t *Topics) AsOf(dst []string, partition int32, v projections.Position) []string {
	for in, next := range v {
		if next > 0 {
			dst = append(dst, t.Token(events.Input(in), partition, next-1))
		}
	}
	return dst
}

// Requirement is the part of `after` about one partition: the last offset of each input that must
// be folded, -1 for none.
type Requirement [events.NumInputs]int64

// After is a parsed `after`, by partition.
type After map[int32]Requirement

// MaxTokens returns how many tokens `after` may have: as many as any as_of has.
func MaxTokens(partitions int32) int {
	if partitions <= 0 {
		return maxUnknown
	}
	return int(events.NumInputs) * int(partitions)
}

// ParseAfter parses `after` and refuses tokens that no answer of this cluster can have had.
// partitions is the partition count of the inputs.
func (t *Topics) ParseAfter(tokens []string, partitions int32) (After, error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	if limit := MaxTokens(partitions); len(tokens) > limit {
		return nil, connect.NewError(connect.CodeInvalidArgument, codec.ErrTooManyTokens(limit))
	}
	out := make(After, len(tokens))
	for i, tok := range tokens {
		record, err := events.ParseRecordID(tok)
		if err != nil {
			return nil, fault.Invalid("after[%d] is %.300q, want \"topic/partition/offset\" as in as_of", i, tok)
		}
		in, ok := t.Input(record.Topic)
		if !ok {
			return nil, fault.Invalid("after[%d] is %.300q: %q is none of the input topics %s", i, tok, record.Topic, strings.Join(t[:], ", "))
		}
		if record.Partition >= partitions {
			return nil, fault.Invalid("after[%d] is %.300q: there are %d partitions, 0 to %d", i, tok, partitions, partitions-1)
		}
		r, ok := out[record.Partition]
		if !ok {
			r = Requirement{-1, -1, -1}
		}
		r[in] = max(r[in], record.Offset)
		out[record.Partition] = r
	}
	return out, nil
}

// Merge raises the requirements of a to tokens, which come from this service.
func (t *Topics) Merge(a After, tokens []string) {
	for _, tok := range tokens {
		id, err := events.ParseRecordID(tok)
		in, known := t.Input(id.Topic)
		if err != nil || !known {
			continue
		}
		r, ok := a[id.Partition]
		if !ok {
			r = Requirement{-1, -1, -1}
		}
		r[in] = max(r[in], id.Offset)
		a[id.Partition] = r
	}
}

// Tokens returns the requirements of a as tokens, by partition and input.
func (t *Topics) Tokens(a After) (out []string) {
	for _, p := range slices.Sorted(maps.Keys(a)) {
		out = t.tokens(out, p, a[p])
	}
	return out
}

// Without appends the tokens of a for those of partitions ps that are not in read. Both are
// ascending.
func (t *Topics) Without(dst []string, a After, ps, read []int32) []string {
	if len(a) == 0 {
		return dst
	}
	for _, p := range ps {
		if len(read) > 0 && read[0] == p {
			read = read[1:]
		} else if r, named := a[p]; named {
			dst = t.tokens(dst, p, r)
		}
	}
	return dst
}

func (t *Topics) tokens(dst []string, p int32, r Requirement) []string {
	for in, offset := range r {
		if offset >= 0 {
			dst = append(dst, t.Token(events.Input(in), p, offset))
		}
	}
	return dst
}
