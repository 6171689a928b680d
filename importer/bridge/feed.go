package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

const (
	settled    = 500 * time.Millisecond // how much later than other records of its time a record may come
	listEvery  = 10 * time.Second       // time between two searches for new topics
	beforehand = 10 * time.Minute       // how far the clocks of the import and of Debezium may differ
	maxWaiting = 20_000                 // records of a partition that wait for records of other partitions
)

// feed reads the changes that Debezium writes, a topic for each table. It puts the changes of all
// topics back into transactions, in the order of their commits. It holds each change until the
// other topics must have delivered theirs up to the same commit.
type feed struct {
	conf   *Config
	cl     *kgo.Client
	adm    *kadm.Client
	state  *importer.State
	moment *source.Moment // what the import has; nil: the mapping knows

	parts   map[part]*feedPart
	waiting []*waitingChange
	ready   []*source.Transaction
	behind  map[*source.Transaction][]*waitingChange
	begun   time.Time      // start of the current wait; zero: there is none
	upTo    *waitingChange // the newest change at that time
	count   int            // the number of records read at that time
	total   int
	ends    map[part]int64 // once the wait is over
	listed  time.Time
	last    source.LSN
	missed  map[string]bool
}

type part struct {
	topic string
	n     int32
}

// feedPart is a partition.
type feedPart struct {
	read    int64   // next offset to be read
	pending []int64 // offsets of changes that are not taken
	newest  *waitingChange
	paused  bool
}

// waitingChange is a change that waits for others.
type waitingChange struct {
	*source.Envelope
	at     part
	offset int64
}

func (h *waitingChange) compare(o *waitingChange) int {
	return cmp.Or(cmp.Compare(h.After, o.After), cmp.Compare(h.At, o.At), cmp.Compare(h.at.topic, o.at.topic),
		cmp.Compare(h.at.n, o.at.n), cmp.Compare(h.offset, o.offset))
}

// openFeed begins after the saved offsets, or with the first change that the import does not
// include.
func openFeed(ctx context.Context, conf *Config, state *importer.State) (_ *feed, err error) {
	var moment *source.Moment
	if conf.Product != rocketChat {
		moment, err = source.ParseMoment(state.Moment)
	}
	if err != nil {
		return nil, refuse("the import %s does not record which transactions it includes (an older build made it, or it read files): import again into fresh topics", state.Name())
	}
	f := &feed{
		conf: conf, state: state, moment: moment, parts: map[part]*feedPart{}, behind: map[*source.Transaction][]*waitingChange{}, missed: map[string]bool{},
	}
	f.cl, err = conf.Kafka.Client(ctx, patience, kgo.DisableClientMetrics(), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(250*time.Millisecond), kgo.KeepControlRecords(), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.cl.Close()
		}
	}()
	f.adm = kadm.NewClient(f.cl)
	if state.Debezium == nil {
		state.Debezium = &importer.Feed{}
	}
	f.last, _ = source.ParseLSN(state.Debezium.LSN) // "" before the first change
	return f, f.list(ctx)
}

// Close ends the reading.
func (f *feed) Close(context.Context) { f.cl.Close() }

// Idle returns 0, because a feed does not see the end of the database's log.
func (f *feed) Idle() source.LSN { return 0 }

// Confirm does nothing: the database keeps its log for Debezium.
func (f *feed) Confirm(context.Context, source.LSN) error { return nil }

// list looks for topics of the tables, and reads new ones. Debezium makes a topic with the first
// change of its table.
func (f *feed) list(ctx context.Context) error {
	if time.Since(f.listed) < listEvery {
		return nil
	}
	all, err := f.adm.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("listing Debezium's topics: %w", err)
	}
	first := f.state.Debezium.Offsets == nil
	var fresh []string
	for _, t := range all.Sorted() {
		table := t.Topic[strings.LastIndexByte(t.Topic, '.')+1:]
		followed := slices.ContainsFunc(f.conf.follows(), func(of source.Followed) bool { return of.Table == table })
		if !strings.HasPrefix(t.Topic, f.conf.Debezium+".") || !followed || f.parts[part{t.Topic, 0}] != nil || t.Err != nil {
			continue
		}
		fresh = append(fresh, t.Topic)
	}
	if len(fresh) > 0 {
		from, err := f.begins(ctx, fresh, first && f.listed.IsZero())
		if err != nil {
			return err
		}
		f.cl.AddConsumePartitions(from)
	}
	f.listed = time.Now()
	return nil
}

// begins returns the offsets at which new topics are read.
func (f *feed) begins(ctx context.Context, topics []string, first bool) (map[string]map[int32]kgo.Offset, error) {
	if first {
		if err := f.check(ctx, topics); err != nil {
			return nil, err
		}
	}
	listed, err := f.adm.ListStartOffsets(ctx, topics...)
	if first && err == nil && f.moment != nil { // else what the dump has is left out one by one
		listed, err = f.adm.ListOffsetsAfterMilli(ctx, f.state.Now-beforehand.Milliseconds(), topics...)
	}
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the first offsets of Debezium's topics: %w", err)
	}
	from := map[string]map[int32]kgo.Offset{}
	listed.Each(func(o kadm.ListedOffset) {
		at := o.Offset
		if saved := f.state.Debezium.Offsets[o.Topic]; int(o.Partition) < len(saved) {
			at = saved[o.Partition]
		}
		f.parts[part{o.Topic, o.Partition}] = &feedPart{read: at}
		if from[o.Topic] == nil {
			from[o.Topic] = map[int32]kgo.Offset{}
		}
		from[o.Topic][o.Partition] = kgo.NewOffset().At(at)
	})
	return from, nil
}

// check checks that the topics still have all changes since the import.
func (f *feed) check(ctx context.Context, topics []string) error {
	configs, err := f.adm.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		return fmt.Errorf("reading the retention of Debezium's topics: %w", err)
	}
	for _, c := range configs {
		for _, x := range c.Configs {
			if x.Value == nil {
				continue
			}
			if x.Key == "cleanup.policy" && strings.Contains(*x.Value, "compact") {
				return refuse("the topic %s is compacted, so changes are missing: set its cleanup.policy to delete, and import again into fresh topics", c.Name)
			}
			kept, err := time.ParseDuration(*x.Value + "ms")
			if x.Key == "retention.ms" && err == nil && kept >= 0 && time.Since(time.UnixMilli(f.state.Now)) > kept {
				return refuse("the topic %s keeps changes for %v, and the import %s is older: import again into fresh topics, and start the bridge then", c.Name, kept, f.state.Name())
			}
		}
	}
	return nil
}

// Next returns the next transaction. It returns nil if none comes within the given time.
func (f *feed) Next(ctx context.Context, wait time.Duration) (*source.Transaction, error) {
	if len(f.ready) == 0 {
		if err := f.list(ctx); err != nil {
			return nil, err
		}
		if len(f.waiting) > 0 {
			wait = min(wait, settled/5)
		}
		if err := f.poll(ctx, wait); err != nil {
			return nil, err
		}
		if err := f.release(ctx); err != nil {
			return nil, err
		}
	}
	if len(f.ready) == 0 {
		return nil, nil
	}
	tx := f.ready[0]
	f.ready = f.ready[1:]
	return tx, nil
}

// poll reads the records that come within a time.
func (f *feed) poll(ctx context.Context, wait time.Duration) error {
	until, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	fetches := f.cl.PollFetches(until)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, e := range fetches.Errors() {
		if errors.Is(e.Err, kerr.OffsetOutOfRange) {
			return refuse("the topic %s no longer has the changes from which the bridge continues: import again into fresh topics", e.Topic)
		}
		if e.Topic != "" {
			return fmt.Errorf("%s/%d: %w", e.Topic, e.Partition, e.Err)
		}
	}
	for it := fetches.RecordIter(); !it.Done(); {
		if err := f.take(it.Next()); err != nil {
			return err
		}
	}
	return nil
}

// take takes a record.
func (f *feed) take(r *kgo.Record) error {
	at := part{r.Topic, r.Partition}
	p := f.parts[at]
	if p == nil || r.Offset < p.read {
		return nil
	}
	p.read = r.Offset + 1
	if r.Attrs.IsControl() {
		return nil
	}
	decode := source.DecodeEnvelope
	if f.conf.Product == rocketChat {
		decode = func(value []byte) (*source.Envelope, error) { return source.DecodeDocument(r.Key, value) }
	}
	e, err := decode(r.Value)
	if err != nil {
		return refuse("%s/%d at %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	switch {
	case e == nil || e.Kind == 0 && e.Row == nil:
		return nil
	case e.Snapshot != "" && e.Snapshot != "incremental" && e.Time.UnixMilli() > f.state.Now:
		return refuse("Debezium has read the table %s later than the import %s, so changes in between are missing: let its first snapshot end (or set snapshot.mode to "+
			"no_data), and import again into fresh topics", e.Row.Table, f.state.Name())
	case e.Snapshot != "" || f.moment != nil && f.moment.Has(e.TxID):
		return nil // the import has it
	case e.Kind == 0:
		if !f.missed[e.Row.Table] {
			f.missed[e.Row.Table] = true
			f.conf.Log.Warn("a table was truncated: its rows stay in Tidemark", "table", e.Row.Table)
		}
		return nil
	}
	h := &waitingChange{e, at, r.Offset}
	f.waiting, f.total = append(f.waiting, h), f.total+1
	p.pending, p.newest = append(p.pending, r.Offset), h
	if len(p.pending) > maxWaiting && !p.paused {
		p.paused = true
		f.cl.PauseFetchPartitions(map[string][]int32{r.Topic: {r.Partition}})
	}
	return nil
}

// release makes transactions of the held changes. A wait begins with the newest known change. Once
// the wait is over, and each partition was read up to its end or past that change, nothing older
// can come any more. The newest transaction may still be incomplete, unless no topic had a new
// record.
func (f *feed) release(ctx context.Context) error {
	if len(f.waiting) == 0 {
		f.begun = time.Time{}
		return nil
	}
	if f.begun.IsZero() {
		f.begun, f.upTo, f.count, f.ends = time.Now(), f.reach(), f.total, nil
	}
	if time.Since(f.begun) < settled {
		return nil
	}
	if f.ends == nil {
		if err := f.listEnds(ctx); err != nil {
			return err
		}
	}
	for at, end := range f.ends {
		if p := f.parts[at]; p.read < end && !p.paused && (p.newest == nil || p.newest.After <= f.upTo.After) {
			return nil
		}
	}
	quiet := f.total == f.count
	slices.SortFunc(f.waiting, (*waitingChange).compare)
	n := slices.IndexFunc(f.waiting, func(h *waitingChange) bool { return h.compare(f.upTo) > 0 })
	if n < 0 {
		n = len(f.waiting)
	}
	if !quiet {
		n = slices.IndexFunc(f.waiting, func(h *waitingChange) bool { return h.After >= f.upTo.After })
	}
	f.group(f.waiting[:n])
	f.waiting = slices.Clone(f.waiting[n:])
	f.begun = time.Time{}
	return nil
}

// reach returns the newest change up to which all partitions can be read. A partition that has
// delivered enough is paused until its turn.
func (f *feed) reach() *waitingChange {
	newest := slices.MaxFunc(f.waiting, (*waitingChange).compare)
	for _, p := range f.parts {
		if p.paused && p.newest.compare(newest) < 0 {
			newest = p.newest
		}
	}
	return newest
}

func (f *feed) listEnds(ctx context.Context) error {
	topics := map[string]bool{}
	for at := range f.parts {
		topics[at.topic] = true
	}
	var names []string
	for topic := range topics {
		names = append(names, topic)
	}
	listed, err := f.adm.ListCommittedOffsets(ctx, names...)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return fmt.Errorf("reading the end offsets of Debezium's topics: %w", err)
	}
	f.ends = map[part]int64{}
	listed.Each(func(o kadm.ListedOffset) {
		if at := (part{o.Topic, o.Partition}); f.parts[at] != nil {
			f.ends[at] = o.Offset
		}
	})
	return nil
}

// group makes transactions of changes in order.
func (f *feed) group(all []*waitingChange) {
	var tx *source.Transaction
	var id uint32
	for _, h := range all {
		if tx == nil || h.TxID != id {
			tx, id = &source.Transaction{ID: h.TxID, Time: h.Time}, h.TxID
			f.ready = append(f.ready, tx)
		}
		tx.At = max(tx.At, h.At)
		h.Row.Number = int64(len(tx.Changes) + 1)
		tx.Changes = append(tx.Changes, source.Change{Kind: h.Kind, Row: h.Row})
		f.behind[tx] = append(f.behind[tx], h)
	}
}

// taken records that a transaction is written. In each partition, the changes are also in the order
// of their commits.
func (f *feed) taken(tx *source.Transaction) {
	for _, h := range f.behind[tx] {
		p := f.parts[h.at]
		if p.pending = p.pending[1:]; p.paused && len(p.pending) < maxWaiting/2 {
			p.paused = false
			f.cl.ResumeFetchPartitions(map[string][]int32{h.at.topic: {h.at.n}})
		}
	}
	delete(f.behind, tx)
	f.last = max(f.last, tx.At)
}

// save writes the feed's position into the state.
func (f *feed) save(state *importer.State) {
	state.Debezium = &importer.Feed{LSN: f.last.String(), Offsets: map[string][]int64{}}
	for at, p := range f.parts {
		offsets := state.Debezium.Offsets[at.topic]
		for len(offsets) <= int(at.n) {
			offsets = append(offsets, 0)
		}
		if offsets[at.n] = p.read; len(p.pending) > 0 {
			offsets[at.n] = p.pending[0]
		}
		state.Debezium.Offsets[at.topic] = offsets
	}
}
