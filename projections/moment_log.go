package projections

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
)

// channelLog is the log of a channel, from a message on, as it was at a moment.
type channelLog struct {
	m         *moment
	head      uint32
	logTime   int64 // of the partition
	retention int64
	tail      [][]byte          // entries of the newest messages, the head's is the last
	recent    map[uint32][]byte // full blocks that were written since the last cut

	number uint32 // of block
	block  []byte
}

// noBlock is the number of no block.
const noBlock = math.MaxUint32

// logFrom begins to read the log of the moment's channel from message from on. RLock is held, as it has been since the
// moment began. Its cost is a look into the overlay for each block, or for each record in there if these are fewer; values
// in there are never written over.
func (m *moment) logFrom(c *channel, from uint32) *channelLog {
	p := m.p
	l := &channelLog{m: m, head: c.headSeq, logTime: p.logTime, retention: p.settings.IndexRetention, number: noBlock}
	for s := c.headSeq - min(c.headSeq, tailLen) + 1; s <= c.headSeq; s++ {
		l.tail = append(l.tail, bytes.Clone(p.blobs.get(c.tail[s%tailLen])))
	}
	first, full := blockOf(max(from, 1)), c.headSeq/tailLen
	if first >= full || len(p.now.entries) == 0 {
		return l
	}
	l.recent = map[uint32][]byte{}
	if int(full-first) <= len(p.now.entries) {
		var kb [keyBuf]byte
		for b := first; b < full; b++ {
			if v, deleted, known := p.now.get(appendLogKey(kb[:0], m.channel, b)); known && !deleted {
				l.recent[b] = v
			}
		}
		return l
	}
	prefix := append(append([]byte{keyLog}, m.channel...), 0)
	for i := range p.now.entries {
		e := &p.now.entries[i]
		if rest, in := bytes.CutPrefix(e.key, prefix); in && len(rest) == 4 && !e.deleted {
			l.recent[binary.BigEndian.Uint32(rest)] = e.val
		}
	}
	return l
}

// entry decodes a message from where the log begins on. It borrows from the log until the next is asked for.
func (l *channelLog) entry(ctx context.Context, seq uint32) (e entry, err error) {
	if back := l.head - seq; seq <= l.head && back < uint32(len(l.tail)) {
		err = e.decode(seq, l.tail[len(l.tail)-1-int(back)])
	} else if err = l.load(ctx, blockOf(seq)); err == nil {
		err = blockEntry(l.block, seq, &e)
	}
	if err != nil {
		return entry{}, fmt.Errorf("log of channel %q, message %d: %w", l.m.channel, seq, err)
	}
	return e, nil
}

func (l *channelLog) load(ctx context.Context, block uint32) error {
	if l.number == block {
		return nil
	}
	if err := l.m.goOn(ctx); err != nil {
		return err
	}
	l.number = noBlock
	v, ok := l.recent[block]
	if !ok {
		var kb [keyBuf]byte
		var err error
		if v, ok, err = l.m.get(appendLogKey(kb[:0], l.m.channel, block)); err != nil {
			return err
		}
	}
	if !ok {
		return fmt.Errorf("block %d is missing from the store", block)
	}
	l.number, l.block = block, v
	return nil
}

// messageID is as Partition.messageID.
func (l *channelLog) messageID(ctx context.Context, seq uint32) (string, error) {
	e, err := l.entry(ctx, seq)
	if err != nil || (l.head-seq >= tailLen && l.logTime-e.time > l.retention) {
		return "", err
	}
	return string(e.id), nil
}
