package importer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/events"
)

// checkpointEvery is how often an import waits until its records are written, and saves its state.
const checkpointEvery = 2 * time.Second

var errChanged = errors.New("the source no longer has the messages that this import has already written, so their numbers do " +
	"not match: import it again into fresh topics, with another --topic-prefix")

// writer writes records in the order of their places. When it continues an import it skips the
// records that the log already has.
type writer struct {
	ctx    context.Context
	cl     *kgo.Client
	topics [events.NumInputs]string
	saved  *states
	state  State
	every  time.Duration

	last    [events.NumInputs]Pass // as the state had it when this run began
	tail    [events.NumInputs][][]written
	digest  uint64
	behind  bool // the records of earlier runs are passed
	savedAt time.Time
	skipped int64
	head    []byte // value of the header
	spare   func() error

	mu     sync.Mutex
	failed error
}

// write writes a record unless the log already has it.
func (w *writer) write(key []byte, in events.Input, channel string, value []byte, millis int64) error {
	if err := w.ctx.Err(); err != nil {
		return context.Cause(w.ctx)
	}
	pass, last := w.state.pass(in), &w.last[in]
	if in == events.Messages {
		if last.Key != nil && !w.behind && bytes.Compare(key, last.Key) > 0 {
			if w.behind = true; w.digest != last.Digest {
				return errChanged
			}
		}
		if rank := rankOf(key); rank == rankPost || rank == rankSeed {
			w.digest = xxh3.Hash(append(binary.BigEndian.AppendUint64(nil, w.digest), key...))
		}
	}
	if last.Key != nil && bytes.Compare(key, last.Key) <= 0 {
		w.skipped++
		return nil
	}
	p := events.PartitionOf([]byte(channel), int32(len(pass.Offsets)))
	if tail := w.tail[in]; tail != nil && len(tail[p]) > 0 {
		if !bytes.Equal(tail[p][0].value, value) {
			return errChanged
		}
		w.acknowledged(in, p, tail[p][0].offset)
		tail[p] = tail[p][1:]
		w.skipped++
	} else {
		r := &kgo.Record{
			Topic: w.topics[in], Partition: p, Key: []byte(channel), Value: value, Timestamp: time.UnixMilli(millis),
			Headers: []kgo.RecordHeader{{Key: headerImport, Value: w.head}},
		}
		w.cl.Produce(w.ctx, r, func(r *kgo.Record, err error) {
			if err == nil {
				w.acknowledged(in, r.Partition, r.Offset)
				return
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = firstOf(w.failed, fmt.Errorf("writing to %s: %w", r.Topic, err))
		})
	}
	pass.Key, pass.Digest = append(pass.Key[:0], key...), w.digest
	pass.Records++
	if w.spare != nil {
		if err := w.spare(); err != nil {
			return err
		}
	}
	if time.Since(w.savedAt) >= w.every {
		return w.checkpoint()
	}
	return nil
}

func (w *writer) acknowledged(in events.Input, p int32, offset int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	offsets := w.state.pass(in).Offsets
	offsets[p] = max(offsets[p], offset+1)
}

// checkpoint waits until all records are written, and saves the state.
func (w *writer) checkpoint() error {
	if err := w.cl.Flush(w.ctx); err != nil {
		return err
	}
	w.mu.Lock()
	err, state := w.failed, w.state
	state.Messages.Offsets, state.Reads.Offsets = slices.Clone(state.Messages.Offsets), slices.Clone(state.Reads.Offsets)
	w.mu.Unlock()
	if err != nil {
		return err
	}
	w.savedAt = time.Now()
	return w.saved.save(w.ctx, &state)
}

// ended checks, at the end of a pass, that the pass has met every record that the log has of it.
func (w *writer) ended(in events.Input) error {
	for _, rest := range w.tail[in] {
		if len(rest) > 0 {
			return errChanged
		}
	}
	if in == events.Messages && !w.behind && w.last[in].Key != nil && w.digest != w.last[in].Digest {
		return errChanged
	}
	return nil
}

func firstOf(first, then error) error {
	if first != nil {
		return first
	}
	return then
}
