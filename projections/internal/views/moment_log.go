package views

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// channelLog reads the log of a channel from one message on, as it was at a moment.
type channelLog struct {
	m         *moment
	head      uint32
	seed      uint32 // number of seeded messages, which precede the log
	logTime   int64  // log time of the partition
	retention int64
	tail      [][]byte          // entries of the newest messages; the last is the head's
	recent    map[uint32][]byte // full blocks that were written since the last cut

	number uint32 // of block
	block  []byte
}

// noBlock is a number that no block has.
const noBlock = math.MaxUint32

// logOf begins a moment together with the channel's log from a message on. The caller holds RLock.
// After a panic no moment is open.
func (p *Queries) logOf(c *state.Channel, from uint32) (*moment, *channelLog, error) {
	m, err := p.moment(c)
	if err != nil {
		return nil, nil, err
	}
	begun := false
	defer func() {
		if !begun {
			m.drop()
		}
	}()
	l := m.logFrom(c, from)
	begun = true
	return m, l, nil
}

// logFrom prepares to read the log of the moment's channel from message from on. The caller has
// held RLock since the moment began. It costs one lookup in the overlay for each block, or for each
// record there if those are fewer. Values in the overlay are never overwritten.
func (m *moment) logFrom(c *state.Channel, from uint32) *channelLog {
	p := m.p
	l := &channelLog{m: m, head: c.HeadSeq, seed: p.rules.SeedOf(c), logTime: p.rules.MessageTime, retention: p.rules.Settings.IndexRetention, number: noBlock}
	for s := c.HeadSeq - min(c.HeadSeq-l.seed, history.BlockLen) + 1; s <= c.HeadSeq; s++ {
		l.tail = append(l.tail, bytes.Clone(p.rules.Blobs.Get(c.Tail[s%history.BlockLen])))
	}
	first, full := history.BlockOf(max(from, l.seed+1)-l.seed), (c.HeadSeq-l.seed)/history.BlockLen
	if first >= full || p.rules.Written.Now.Count() == 0 {
		return l
	}
	l.recent = map[uint32][]byte{}
	if int(full-first) <= p.rules.Written.Now.Count() {
		var kb [keys.Buf]byte
		for b := first; b < full; b++ {
			if v, deleted, known := p.rules.Written.Now.Get(keys.AppendLog(kb[:0], m.channel, b)); known && !deleted {
				l.recent[b] = v
			}
		}
		return l
	}
	prefix := append(append([]byte{keys.Log}, m.channel...), 0)
	for i := range p.rules.Written.Now.Count() {
		e := p.rules.Written.Now.At(i)
		if rest, in := bytes.CutPrefix(e.Key, prefix); in && len(rest) == 4 && !e.Deleted {
			l.recent[binary.BigEndian.Uint32(rest)] = e.Val
		}
	}
	return l
}

// entry decodes a message of the log that was not seeded. The entry is valid until the next call.
func (l *channelLog) entry(ctx context.Context, seq uint32) (e history.Entry, err error) {
	if back := l.head - seq; seq <= l.head && back < uint32(len(l.tail)) {
		err = e.Decode(seq, l.tail[len(l.tail)-1-int(back)])
	} else if err = l.load(ctx, history.BlockOf(seq-l.seed)); err == nil {
		err = history.BlockEntry(l.block, seq-l.seed, seq, &e)
	}
	if err != nil {
		return history.Entry{}, fmt.Errorf("log of channel %q, message %d: %w", l.m.channel, seq, err)
	}
	return e, nil
}

func (l *channelLog) load(ctx context.Context, block uint32) error {
	if l.number == block {
		return nil
	}
	if err := l.m.checkStopped(ctx); err != nil {
		return err
	}
	l.number = noBlock
	v, ok := l.recent[block]
	if !ok {
		var kb [keys.Buf]byte
		var err error
		if v, ok, err = l.m.get(keys.AppendLog(kb[:0], l.m.channel, block)); err != nil {
			return err
		}
	}
	if !ok {
		return fmt.Errorf("block %d is missing from the store", block)
	}
	l.number, l.block = block, v
	return nil
}

// messageID returns the id of a message, as Queries.messageID does.
func (l *channelLog) messageID(ctx context.Context, seq uint32) (string, error) {
	e, err := l.entry(ctx, seq)
	if err != nil || (l.head-seq >= history.BlockLen && l.logTime-e.Time > l.retention) {
		return "", err
	}
	return string(e.ID), nil
}
