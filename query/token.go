package query

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

const (
	// maxAfter bounds `after`: three tokens for each of 4,096 partitions are more than any as_of has.
	maxAfter = 3 * 4096
	// maxWait bounds how long a call waits for `after`.
	maxWait = 5 * time.Second
	// deadlineMargin is left of the caller's deadline, so that the answer "unavailable" still arrives.
	deadlineMargin = 50 * time.Millisecond
)

// topicNames are the names of the input topics, by input.
type topicNames [events.NumInputs]string

func (t *topicNames) input(name string) (events.Input, bool) {
	for in, n := range t {
		if n == name {
			return events.Input(in), true
		}
	}
	return 0, false
}

// token is "topic/partition/offset" of a record of an input topic.
func (t *topicNames) token(in events.Input, partition int32, offset int64) string {
	b := make([]byte, 0, len(t[in])+24)
	b = append(b, t[in]...)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(partition), 10)
	b = append(b, '/')
	return string(strconv.AppendInt(b, offset, 10))
}

// asOf appends the tokens of the last records that position v of a partition stands for; an input of which nothing was
// folded has none.
func (t *topicNames) asOf(dst []string, partition int32, v projections.Position) []string {
	for in, next := range v {
		if next > 0 {
			dst = append(dst, t.token(events.Input(in), partition, next-1))
		}
	}
	return dst
}

// requirement is what `after` asks of one partition: the last offset of each input that must be folded, -1 for none.
type requirement [events.NumInputs]int64

// after is a parsed `after`, by partition.
type after map[int32]requirement

// parseAfter refuses what no answer of this cluster can have said. partitions is the partition count of the inputs.
func (t *topicNames) parseAfter(tokens []string, partitions int32) (after, error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	if len(tokens) > maxAfter {
		return nil, invalid("after has %d tokens, the limit is %d", len(tokens), maxAfter)
	}
	out := make(after, len(tokens))
	for i, tok := range tokens {
		topic, partition, offset, ok := splitToken(tok)
		if !ok {
			return nil, invalid("after[%d] is %.300q, want \"topic/partition/offset\" as in as_of", i, tok)
		}
		in, ok := t.input(topic)
		if !ok {
			return nil, invalid("after[%d] is %.300q: %q is none of the input topics %s", i, tok, topic, strings.Join(t[:], ", "))
		}
		if partition >= partitions {
			return nil, invalid("after[%d] is %.300q: there are %d partitions, 0 to %d", i, tok, partitions, partitions-1)
		}
		r, ok := out[partition]
		if !ok {
			r = requirement{-1, -1, -1}
		}
		r[in] = max(r[in], offset)
		out[partition] = r
	}
	return out, nil
}

// splitToken takes a token apart; numbers are plain decimal digits.
func splitToken(tok string) (topic string, partition int32, offset int64, ok bool) {
	rest, off, found := cutLast(tok)
	topic, part, found2 := cutLast(rest)
	if !found || !found2 || topic == "" || !digits(part) || !digits(off) {
		return "", 0, 0, false
	}
	p, err := strconv.ParseInt(part, 10, 32)
	if err != nil {
		return "", 0, 0, false
	}
	if offset, err = strconv.ParseInt(off, 10, 64); err != nil {
		return "", 0, 0, false
	}
	return topic, int32(p), offset, true
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// wait returns once what a asks of partitions ps is folded here. It waits at most maxWait, or until shortly before the
// caller's deadline.
func (s *service) wait(ctx context.Context, a after, ps ...int32) error {
	if len(a) == 0 {
		return nil
	}
	limit := maxWait
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(min(limit, time.Until(deadline)-deadlineMargin), 0)
	}
	wctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, p := range ps {
		r, ok := a[p]
		if !ok {
			continue
		}
		for in, offset := range r {
			if offset < 0 {
				continue
			}
			err := s.node.Wait(wctx, p, events.Input(in), offset)
			switch {
			case err == nil:
			case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
				return ctx.Err()
			case wctx.Err() != nil:
				return unavailable("after: %s was not folded within %v",
					s.topics.token(events.Input(in), p, offset), limit.Round(time.Millisecond))
			default:
				return unavailable("after: waiting for %s: %v", s.topics.token(events.Input(in), p, offset), err)
			}
		}
	}
	return nil
}
