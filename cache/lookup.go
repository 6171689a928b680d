package cache

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/events"
)

// lookup is one query to Redis about its values, with the group of deltas that needs the answer.
type lookup struct {
	group *group // nil: the query is about channels
	of    lookupHash
	n     int // number of values
}

// lookupHash selects a hash of a user to query. A value is looked up in its own hash and then among
// the removals.
type lookupHash uint8

const (
	ofInbox lookupHash = iota
	ofThreads
	ofGone
)

// prefix returns the prefix of the hash's key.
func (a lookupHash) prefix() string {
	return [...]string{prefixInbox, prefixInboxThreads, prefixInboxGone}[a]
}

// about reports whether the hash can have d.
func (a lookupHash) about(d *delta) bool {
	return d.asked && (a == ofGone || d.thread() == (a == ofThreads))
}

// reads returns the commands before a transaction. They watch and read the owners of its
// partitions, and read the values in Redis that the table does not have.
func (c *chunk) reads() [][]any {
	out := &c.out
	out.Reset()
	out.Command("watch")
	out.Str(ownersKey)
	out.Command("hmget")
	out.Str(ownersKey)
	for _, p := range c.parts {
		out.Str(p.String())
	}
	c.lookups = c.lookups[:0]
	for i := range c.groups {
		g := &c.groups[i]
		if !g.asked {
			continue
		}
		for of := ofInbox; of <= ofGone; of++ {
			a := lookup{group: g, of: of}
			for _, n := range g.deltas {
				d := &c.batch.deltas[n]
				if !of.about(d) {
					continue
				}
				if a.n++; a.n == 1 {
					out.Command("hmget")
					out.key(of.prefix(), g.user.id)
				}
				out.field(d)
			}
			if a.n > 0 {
				c.lookups = append(c.lookups, a)
			}
		}
	}
	first := true
	for _, i := range c.channels {
		r := &c.batch.channels[i]
		if !r.asked {
			continue
		}
		if first {
			first = false
			out.Command("mget")
			c.lookups = append(c.lookups, lookup{})
		}
		if c.format.Packed {
			out.key(prefixChannelLatest, r.ChannelID)
		}
		out.key(prefixChannelStamp, r.ChannelID)
	}
	return out.List()
}

// take evaluates the answers to reads. It skips values of partitions with another owner, and marks
// values that Redis dominates as stale. Each attempt starts over with its own answers.
func (c *chunk) take(answers []*redis.Cmd) error {
	owners, err := slice(answers[1], len(c.parts))
	if err != nil {
		return fmt.Errorf("owners of partitions: %w", err)
	}
	for i, p := range c.parts {
		if owner, _ := owners[i].(string); owner != p.token {
			p.lost.Store(true)
			c.skip(p)
		}
	}
	for i, a := range c.lookups {
		answer := answers[2+i]
		if a.group == nil {
			err = c.takeChannels(answer)
		} else {
			err = c.takeGroup(answer, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// skip marks the values of p as skipped.
func (c *chunk) skip(p *part) {
	for i := range c.groups {
		if c.groups[i].user.part != p {
			continue
		}
		for _, n := range c.groups[i].deltas {
			c.batch.deltas[n].state = skipped
		}
	}
	for _, i := range c.channels {
		if r := &c.batch.channels[i]; r.part == p {
			r.state = skipped
		}
	}
}

func (c *chunk) takeGroup(answer *redis.Cmd, a lookup) error {
	values, err := slice(answer, a.n)
	if err != nil {
		return fmt.Errorf("values of user %q in Redis: %w", a.group.user.id, err)
	}
	for _, i := range a.group.deltas {
		d := &c.batch.deltas[i]
		if !a.of.about(d) {
			continue
		}
		value, there := values[0].(string)
		values = values[1:]
		if a.of != ofGone {
			d.known = known{}
			if d.state == stale || d.state == unpublished {
				d.state = pending // from an earlier attempt
			}
		}
		if !there || d.state != pending {
			continue
		}
		k, ok := parseKnown(value)
		if a.of == ofGone {
			k, ok = parseGone(value)
		}
		if !ok {
			continue // no cache wrote this value: replace it
		}
		switch d.known = k; {
		case !k.refuses(&d.now.stamp):
		case k.stamp == d.now.stamp && d.toPublish && (d.repeated || c.tried):
			d.state = unpublished
		default:
			d.state = stale
		}
	}
	return nil
}

func (c *chunk) takeChannels(answer *redis.Cmd) error {
	n, perChannel := 0, 1
	if c.format.Packed {
		perChannel = 2 // the record with its stamp, and the stamp of a deleted channel
	}
	for _, i := range c.channels {
		if c.batch.channels[i].asked {
			n += perChannel
		}
	}
	values, err := slice(answer, n)
	if err != nil {
		return fmt.Errorf("stamps of channels: %w", err)
	}
	for _, i := range c.channels {
		r := &c.batch.channels[i]
		if !r.asked {
			continue
		}
		stamp, there := parseChannelStamp(values[:perChannel])
		values = values[perChannel:]
		r.known = known{}
		if r.state == skipped {
			continue
		}
		r.state = pending
		if there {
			if r.known = (known{stamp: stamp, there: true}); r.known.refuses(&r.Stamp) {
				r.state = stale
			}
		}
	}
	return nil
}

// parseChannelStamp returns the stamp of a channel in Redis: from its packed record if that is
// among the answers, otherwise from the key of its stamp.
func parseChannelStamp(answers []any) (events.Stamp, bool) {
	if record, ok := answers[0].(string); ok && len(answers) > 1 {
		if stamp, err := entry.PackedStamp(record); err == nil {
			return stamp, true
		}
	}
	value, _ := answers[len(answers)-1].(string)
	stamp, err := events.ParseStamp(value + ".0.0")
	return stamp, err == nil
}

// parseKnown parses the fields of an inbox value that the table keeps.
func parseKnown(value string) (known, bool) {
	e, err := entry.Parse("", value)
	if err != nil || e.Stamp == (events.Stamp{}) {
		return known{}, false
	}
	return known{stamp: e.Stamp, seq: e.LastReadSeq, at: atUnknown, member: true, there: true}, true
}

// parseGone parses a field of inbox-gone: the stamp of a removal, and the seq of the read pointer.
func parseGone(value string) (known, bool) {
	dot := strings.LastIndexByte(value, '.')
	if dot < 0 {
		return known{}, false
	}
	stamp, err := events.ParseStamp(value[:dot])
	if err != nil {
		return known{}, false
	}
	seq, err := strconv.ParseUint(value[dot+1:], 10, 32)
	return known{stamp: stamp, seq: uint32(seq), at: atUnknown, there: true}, err == nil
}

// slice returns an answer that must have n values.
func slice(answer *redis.Cmd, n int) ([]any, error) {
	values, err := answer.Slice()
	if err == nil && len(values) != n {
		err = fmt.Errorf("%d values, want %d", len(values), n)
	}
	return values, err
}
