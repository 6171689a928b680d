package partition

import (
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// driver drives one partition as the processor does.
type driver struct {
	p         *projections.Partition
	cache     *pebble.Cache
	dec       events.Decoder
	messages  [batchSize]events.Message
	reads     [batchSize]events.Read
	news      [batchSize]events.Delivery
	channels  [][]byte
	warmM     []*events.Message
	warmR     []*events.Read
	deltas    projections.Deltas
	offsets   [events.NumInputs]int64
	replaying bool // see replay
	pace      pace

	phases
}

// crowdedCut is how many times its memory a partition may use before it is cut.
const crowdedCut = 1.25

// batchSize is the number of records that are folded at once.
const batchSize = 256

// pace is how often a driver drains and cuts.
type pace struct {
	drain, cut int   // events between two of them
	bytes      int64 // with so many dirty bytes it cuts as well; 0: no limit
	apart      bool  // a batch has at most one read of each pair
}

// equalPace returns a pace at which each event has its own delta, and each page write of the store
// covers 15 events, for any number of channels.
func equalPace(m traffic.Mix) pace {
	const eventsPerPage = 15
	g, pages := traffic.New(m), map[string]bool{}
	for range eventsPerPage * m.Channels { // so that all channels have unread messages
		g.Next()
	}
	for n := 1; ; n++ {
		e := g.Next()
		pages[string(e.Key)] = true
		if n >= eventsPerPage*len(pages) {
			return pace{drain: batchSize, cut: n, apart: true}
		}
	}
}

// phases has the time that a driver spent in each phase, and the numbers of its deltas and cuts.
type phases struct {
	decode, fold, drain, cut, apply time.Duration
	deltasOut, cuts                 int
}

func openDriver(dir string, s projections.Settings) (*driver, error) {
	return openWith(dir, s, everything)
}

const memtable = 32 << 20 // larger than a node's: most benches measure no memory

// room is the memory of a partition, in bytes.
type room struct {
	hot             int64 // for channels, 0: no limit
	cache, memtable int64
	later           bool // Options.ListLater
}

// everything is room for all channels.
var everything = room{cache: 128<<20 + 2*memtable, memtable: memtable}

// roomOf is what a node with these shares of memory has for a partition.
func roomOf(shares config.Memory) room {
	return room{hot: int64(shares.Hot), cache: int64(shares.Cache), memtable: int64(shares.MemTable)}
}

// openWith is openDriver with the partition's memory.
func openWith(dir string, s projections.Settings, r room) (*driver, error) {
	id := projections.Identity{ClusterID: "bench", Partitions: 1, Settings: s}
	for i, name := range events.InputTopics {
		id.Topics[i].Name = name
	}
	d := &driver{cache: pebble.NewCache(r.cache), pace: pace{drain: 10_000, cut: 300_000}}
	var err error
	d.p, err = projections.Open(dir, id, projections.Options{Cache: d.cache, MemTableSize: uint64(r.memtable), Memory: func() int64 { return r.hot }, ListLater: r.later})
	return d, err
}

func (d *driver) close() error {
	defer d.cache.Unref()
	return d.p.Close()
}

// replay makes the driver fold as a partition in a replay does: without deltas, and without the marks
// that only deltas need. Everything must have been drained.
func (d *driver) replay() {
	d.p.Lock()
	defer d.p.Unlock()
	d.p.Quiet(true)
	d.replaying = true
}

// foldAll folds records in batches. It drains and cuts at its pace. A replaying driver cuts as
// often as a partition in a replay.
func (d *driver) foldAll(recs []record) error {
	for from := 0; from < len(recs); from += batchSize {
		part := recs[from:min(from+batchSize, len(recs))]
		t0 := time.Now()
		d.warmM, d.warmR, d.channels = d.warmM[:0], d.warmR[:0], d.channels[:0]
		for i := range part {
			var err error
			switch part[i].input {
			case events.Reads:
				err = d.dec.Read(part[i].value, part[i].millis, &d.reads[i])
				d.warmR = append(d.warmR, &d.reads[i])
				d.channels = append(d.channels, d.reads[i].ChannelID)
			case events.Messages:
				err = d.dec.Message(part[i].value, part[i].millis, &d.messages[i])
				d.warmM = append(d.warmM, &d.messages[i])
				d.channels = append(d.channels, d.messages[i].ChannelID)
			default:
				err = d.dec.Delivery(part[i].value, part[i].millis, &d.news[i])
				d.channels = append(d.channels, d.news[i].ChannelID)
			}
			if err != nil {
				return err
			}
		}
		t1 := time.Now()
		d.decode += t1.Sub(t0)
		if err := d.p.Fetch(d.channels); err != nil {
			return err
		}
		d.p.Lock()
		d.p.Warm(d.warmM, d.warmR)
		for i := range part {
			in := part[i].input
			switch in {
			case events.Reads:
				d.p.FoldRead(&d.reads[i], d.offsets[in], part[i].millis)
			case events.Messages:
				d.p.FoldMessage(&d.messages[i], d.offsets[in], part[i].millis)
			default:
				d.p.FoldDelivery(&d.news[i], d.offsets[in], part[i].millis)
			}
			d.offsets[in]++
		}
		d.p.Unlock()
		d.fold += time.Since(t1)
		crossed := func(n int) bool { return from/n != (from+batchSize)/n }
		cutDue := crossed(d.pace.cut) || d.p.Crowded() > crowdedCut || d.pace.bytes > 0 && d.p.DirtyBytes() >= d.pace.bytes
		if d.replaying {
			cutDue = d.p.DirtyBytes() >= max(processor.DefaultCutBytes, d.p.RareCut())
		}
		if cutDue || !d.replaying && crossed(d.pace.drain) {
			d.drainNow()
		}
		if cutDue {
			if err := d.cutNow(); err != nil {
				return err
			}
		}
	}
	d.drainNow()
	clear(d.messages[:]) // they borrow from recs, of which all are one block of memory
	clear(d.reads[:])
	clear(d.news[:])
	clear(d.channels[:cap(d.channels)])
	return d.p.Err()
}

func (d *driver) drainNow() {
	t0 := time.Now()
	d.deltas.Reset()
	if d.replaying {
		d.p.Drain(nil, true)
	} else {
		d.p.Drain(&d.deltas, true)
	}
	d.deltasOut += len(d.deltas.Records)
	d.drain += time.Since(t0)
}

func (d *driver) cutNow() error {
	t0 := time.Now()
	c, err := d.p.Cut()
	if err != nil {
		return err
	}
	t1 := time.Now()
	d.cut += t1.Sub(t0)
	d.cuts++
	err = c.Apply()
	d.apply += time.Since(t1)
	return err
}

// record is an encoded event.
type record struct {
	value  []byte
	millis int64
	input  events.Input
}

// records returns the next n events in one block of memory.
func records(next func() traffic.Event, n int) []record {
	var arena []byte
	recs := make([]record, 0, n)
	ends := make([]int, 0, n)
	for range n {
		e := next()
		arena = append(arena, e.Value...)
		ends = append(ends, len(arena))
		recs = append(recs, record{millis: e.Millis, input: e.Input})
	}
	at := 0
	for i, end := range ends {
		recs[i].value = arena[at:end:end]
		at = end
	}
	return recs
}

// join folds the joins of a mix.
func (d *driver) join(g *traffic.Generator) error { return d.begin(g.Joins) }

// begin folds the messages with which a mix begins. No query may run meanwhile.
func (d *driver) begin(each func(emit func(*traffic.Event))) (err error) {
	var m events.Message
	n := 0
	each(func(e *traffic.Event) {
		if err != nil {
			return
		}
		if err = d.dec.Message(e.Value, e.Millis, &m); err != nil {
			return
		}
		d.p.FoldMessage(&m, d.offsets[0], e.Millis)
		d.offsets[0]++
		if n++; n%2_000 == 0 {
			d.drainNow()
			err = d.cutNow()
		}
	})
	d.drainNow()
	if err == nil {
		err = d.cutNow()
	}
	d.deltasOut = 0
	return err
}

// apart passes on the events of a generator, except reads of a pair that already has an event in
// the batch.
type apart struct {
	g    *traffic.Generator
	seen map[string]bool
	n    int // events passed on
	dec  events.Decoder
}

func (a *apart) next() traffic.Event {
	if a.n%batchSize == 0 {
		a.seen = map[string]bool{}
	}
	a.n++
	for {
		e := a.g.Next()
		pair := a.pair(&e)
		if e.Input == events.Reads && a.seen[pair] {
			continue
		}
		a.seen[pair] = true
		return e
	}
}

// pair returns the channel and the user of an event of a mix without deliveries.
func (a *apart) pair(e *traffic.Event) string {
	if e.Input == events.Reads {
		var r events.Read
		if a.dec.Read(e.Value, e.Millis, &r) == nil {
			return string(r.ChannelID) + " " + string(r.UserID)
		}
	}
	var m events.Message
	if a.dec.Message(e.Value, e.Millis, &m) == nil {
		return string(m.ChannelID) + " " + string(m.SenderID)
	}
	return ""
}
