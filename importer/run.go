package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// Config describes an import: what to read and where to write it.
type Config struct {
	Kafka    config.Kafka
	Prefix   string // of the topics' names
	Product  string
	Slot     string
	LSN      string             // position of the replication slot whose snapshot is imported; "" without one
	Moment   string             // the transactions that the database's snapshot includes; "" for files
	Source   string             // for messages: without a password
	Since    time.Duration      // older messages become a count for each channel; 0: none
	DryRun   bool               // reads everything and writes nothing
	Each     func(Record) error // gets the records that a dry run would write
	Beside   bool               // the topics may have records of other channels
	Progress func(Progress)

	every time.Duration // between checkpoints
	spare func() error  // called after each record; an error ends the import like a kill
	now   func() time.Time
}

// Progress is how far an import has come. Total 0 means unknown.
type Progress struct {
	Phase       string
	Done, Total int64
}

// Summary is the result of an import.
type Summary struct {
	Product  string           `json:"product"`
	Slot     string           `json:"slot"`
	Source   string           `json:"source"`
	DryRun   bool             `json:"dry_run"`
	Since    *time.Time       `json:"since,omitempty"`
	Rows     map[string]int64 `json:"rows"`
	Channels int              `json:"channels"`
	Messages int64            `json:"message_events"`
	Reads    int64            `json:"read_events"`
	Before   int64            `json:"written_before"`       // of these, by an earlier call
	Seeded   int64            `json:"seeded"`               // messages older than the cut, written as counts
	Retained string           `json:"slot_holds,omitempty"` // the WAL that the database keeps for the replication slot
	Problems []Problem        `json:"not_mapped"`
	Seconds  float64          `json:"seconds"`
}

// ErrDone means that an earlier call has completed the import.
var ErrDone = errors.New("this import is done: it does not include later messages")

// Run imports a source, or continues an import that was interrupted.
func Run(ctx context.Context, conf Config, product Product) (*Summary, error) {
	if conf.now == nil {
		conf.now = time.Now
	}
	if conf.Progress == nil {
		conf.Progress = func(Progress) {}
	}
	if conf.every == 0 {
		conf.every = checkpointEvery
	}
	begun := time.Now()
	state := State{
		Version: stateVersion, Product: conf.Product, Slot: conf.Slot, Source: conf.Source, LSN: conf.LSN, Moment: conf.Moment, Phase: phaseMessages, Now: conf.now().UnixMilli(),
	}
	if conf.Since > 0 {
		state.Cut = state.Now - conf.Since.Milliseconds()
	}
	sum := &Summary{Product: conf.Product, Slot: conf.Slot, Source: conf.Source, DryRun: conf.DryRun}
	out := sink(discard{})
	var w *writer
	if conf.DryRun && conf.Each != nil {
		out = each(conf.Each)
	}
	if !conf.DryRun {
		var err error
		if w, err = openWriter(ctx, &conf, state); err != nil {
			return nil, err
		}
		defer w.cl.Close()
		state, out = w.state, w
	}
	if state.Cut > 0 {
		t := time.UnixMilli(state.Cut).UTC()
		sum.Since = &t
	}
	counted := &counts{sink: out}
	problems := &Problems{}
	p := newPlan(os.TempDir(), state.Cut, state.Now, problems)
	defer p.close()
	p.clock, p.sink = conf.now().Add(events.MaxClockAhead*time.Millisecond).UnixMilli(), counted
	if err := p.run(ctx, &conf, product, w); err != nil {
		return nil, err
	}
	sum.Rows, sum.Channels, sum.Problems = problems.rows, len(p.channels), problems.List()
	sum.Messages, sum.Reads = counted.records[events.Messages], counted.records[events.Reads]
	for _, c := range p.channels {
		sum.Seeded += int64(c.seed)
	}
	if w != nil {
		sum.Before = w.skipped
	}
	sum.Seconds = time.Since(begun).Seconds()
	return sum, nil
}

// run reads the source and makes both passes over its events.
func (p *plan) run(ctx context.Context, conf *Config, product Product, w *writer) error {
	progress := Progress{Phase: "reading the source"}
	p.note = func() {
		if progress.Done++; progress.Done%1000 == 0 {
			conf.Progress(progress)
		}
	}
	if err := product.Events(ctx, p.problems, p.take); err != nil {
		return err
	}
	if err := p.placeNamed(); err != nil {
		return err
	}
	progress = Progress{Phase: "messages", Total: p.events.length}
	if err := p.seedChannels(); err != nil {
		return err
	}
	if err := p.messages(); err != nil {
		return err
	}
	if err := w.begin(events.Messages, phaseReads); err != nil {
		return err
	}
	if err := p.placePointers(); err != nil {
		return err
	}
	if err := p.placeSingles(); err != nil {
		return err
	}
	progress = Progress{Phase: "reads", Total: p.reads.length}
	if err := p.writeReads(); err != nil {
		return err
	}
	return w.begin(events.Reads, phaseDone)
}

// begin ends a pass and remembers that the next phase begins.
func (w *writer) begin(ended events.Input, phase string) error {
	if w == nil {
		return nil
	}
	if err := w.ended(ended); err != nil {
		return err
	}
	w.state.Phase = phase
	return w.checkpoint()
}

// openWriter loads the state of the import and returns a writer that continues from there.
func openWriter(ctx context.Context, conf *Config, fresh State) (_ *writer, err error) {
	cl, err := conf.Kafka.Client(ctx, patience,
		kgo.DisableClientMetrics(), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(5*time.Millisecond), kgo.ProducerBatchMaxBytes(events.MaxValueBytes+64<<10), kgo.MaxBufferedRecords(50_000),
		kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			cl.Close()
		}
	}()
	w := &writer{ctx: ctx, cl: cl, every: conf.every, savedAt: time.Now(), spare: conf.spare, head: []byte(fresh.name())}
	var inputs []string
	for _, in := range []events.Input{events.Messages, events.Reads} {
		w.topics[in] = conf.Prefix + in.String()
		inputs = append(inputs, w.topics[in])
	}
	_, _, partitions, err := kafkaadmin.SettledIdentities(ctx, kadm.NewClient(cl), inputs)
	if err != nil {
		return nil, err
	}
	w.saved = &states{conf: conf, topic: conf.Prefix + TopicImports, cl: cl}
	if err := w.saved.ensure(ctx, inputs); err != nil {
		return nil, err
	}
	state, err := w.saved.load(ctx, fresh.name())
	if err != nil {
		return nil, err
	}
	if state == nil {
		return w, w.first(fresh, partitions, conf.Beside)
	}
	return w, w.resume(conf, *state)
}

// first begins a new import.
func (w *writer) first(state State, partitions map[string]int32, beside bool) error {
	for _, in := range []events.Input{events.Messages, events.Reads} {
		topic := w.topics[in]
		to, err := ends(w.ctx, kadm.NewClient(w.cl), topic, int(partitions[topic]))
		if err != nil {
			return err
		}
		for _, n := range to {
			if n > 0 && in == events.Messages && !beside {
				return fmt.Errorf("%s already has records: an import counts the messages that it writes into a channel, so it needs topics of its own "+
					"(`tidemark topics create --topic-prefix NAME.`, then --topic-prefix NAME. here); add --beside if its records belong to "+
					"other channels", topic)
			}
		}
		state.pass(in).Offsets = to
	}
	w.state = state
	return w.saved.save(w.ctx, &state)
}

// resume continues an interrupted import.
func (w *writer) resume(conf *Config, state State) error {
	if state.Phase == phaseDone {
		return ErrDone
	}
	if state.Source != conf.Source {
		return fmt.Errorf("the import %s began with the source %s, and --source is %s: name another --slot for another source", state.name(), state.Source, conf.Source)
	}
	if since := state.since(); since != conf.Since.Truncate(time.Millisecond) {
		return fmt.Errorf("the import %s began with --since %v (0s is none), and now it is %v: give the same value as before, or import into new topics", state.name(), since, conf.Since)
	}
	for _, in := range []events.Input{events.Messages, events.Reads} {
		pass := state.pass(in)
		if len(pass.Key) > 0 {
			w.last[in] = *pass
			w.last[in].Key = append([]byte(nil), pass.Key...)
		}
		tail, err := tailOf(w.ctx, conf, w.cl, w.topics[in], state.name(), pass.Offsets)
		if err != nil {
			return err
		}
		w.tail[in] = tail
	}
	state.LSN, state.Moment = conf.LSN, conf.Moment
	w.state = state
	return nil
}

// counts counts the events that are written.
type counts struct {
	sink
	records [events.NumInputs]int64
}

func (c *counts) write(key []byte, in events.Input, channel string, value []byte, millis int64) error {
	c.records[in]++
	return c.sink.write(key, in, channel, value, millis)
}

// discard is the sink of a dry run.
type discard struct{}

func (discard) write([]byte, events.Input, string, []byte, int64) error { return nil }

// each is the sink of a dry run whose records the caller wants.
type each func(Record) error

func (e each) write(_ []byte, in events.Input, channel string, value []byte, millis int64) error {
	return e(Record{in, channel, value, millis})
}
