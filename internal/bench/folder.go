package bench

import (
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/load"
	"github.com/tidemark/tidemark/projections"
)

// folder drives one partition as the processor does.
type folder struct {
	p        *projections.Partition
	cache    *pebble.Cache
	dec      events.Decoder
	messages [foldBatch]events.Message
	reads    [foldBatch]events.Read
	news     [foldBatch]events.Delivery
	warmM    []*events.Message
	warmR    []*events.Read
	deltas   projections.Deltas
	offsets  [events.NumInputs]int64
	silent   bool // changes are settled, and nobody is told
	pace     pace

	phases
}

// foldBatch is how many records are folded at once.
const foldBatch = 256

// pace is what a folder does how often.
type pace struct {
	drain, cut int  // events between two of them
	apart      bool // a pair of user and channel comes up once in a batch
}

// equalPace is one at which each event has a delta of its own, and a page of the store is written for 15 events, however many
// channels a mix has.
func equalPace(m load.Mix) pace {
	const eventsPerPage = 15
	g, pages := load.New(m), map[string]bool{}
	for range eventsPerPage * m.Channels { // so that all channels have messages to read
		g.Next()
	}
	for n := 1; ; n++ {
		e := g.Next()
		pages[string(e.Key)] = true
		if n >= eventsPerPage*len(pages) {
			return pace{drain: foldBatch, cut: n, apart: true}
		}
	}
}

// phases is where the time of a folder went, and what it made.
type phases struct {
	decode, fold, drain, cut, apply time.Duration
	deltasOut                       int
}

func openFolder(dir string, s projections.Settings) (*folder, error) {
	id := projections.Identity{ClusterID: "bench", Partitions: 1, Settings: s}
	for i, name := range events.InputTopics {
		id.Topics[i].Name = name
	}
	const memtable = 32 << 20
	f := &folder{cache: pebble.NewCache(128<<20 + 2*memtable), pace: pace{drain: 10_000, cut: 300_000}}
	var err error
	f.p, err = projections.Open(dir, id, projections.Options{Cache: f.cache, MemTableSize: memtable})
	return f, err
}

func (f *folder) close() error {
	defer f.cache.Unref()
	return f.p.Close()
}

// foldAll folds records in batches. It drains and cuts at its pace, or if nobody is told anything when a silent partition
// does.
func (f *folder) foldAll(recs []record) error {
	for from := 0; from < len(recs); from += foldBatch {
		part := recs[from:min(from+foldBatch, len(recs))]
		t0 := time.Now()
		f.warmM, f.warmR = f.warmM[:0], f.warmR[:0]
		for i := range part {
			var err error
			switch part[i].input {
			case events.Reads:
				err = f.dec.Read(part[i].value, part[i].millis, &f.reads[i])
				f.warmR = append(f.warmR, &f.reads[i])
			case events.Messages:
				err = f.dec.Message(part[i].value, part[i].millis, &f.messages[i])
				f.warmM = append(f.warmM, &f.messages[i])
			default:
				err = f.dec.Delivery(part[i].value, part[i].millis, &f.news[i])
			}
			if err != nil {
				return err
			}
		}
		t1 := time.Now()
		f.decode += t1.Sub(t0)
		f.p.Lock()
		f.p.Warm(f.warmM, f.warmR)
		for i := range part {
			in := part[i].input
			switch in {
			case events.Reads:
				f.p.FoldRead(&f.reads[i], f.offsets[in], part[i].millis)
			case events.Messages:
				f.p.FoldMessage(&f.messages[i], f.offsets[in], part[i].millis)
			default:
				f.p.FoldDelivery(&f.news[i], f.offsets[in], part[i].millis)
			}
			f.offsets[in]++
		}
		f.p.Unlock()
		f.fold += time.Since(t1)
		crossed := func(n int) bool { return from/n != (from+foldBatch)/n }
		cutDue := crossed(f.pace.cut)
		if f.silent {
			cutDue = f.p.DirtyBytes() >= max(32<<20, f.p.RareCut())
		}
		if cutDue || !f.silent && crossed(f.pace.drain) {
			f.drainNow()
		}
		if cutDue {
			if err := f.cutNow(); err != nil {
				return err
			}
		}
	}
	f.drainNow()
	return f.p.Err()
}

func (f *folder) drainNow() {
	t0 := time.Now()
	f.p.Lock()
	f.deltas.Reset()
	if f.silent {
		f.p.Drain(nil, true)
	} else {
		f.p.Drain(&f.deltas, true)
	}
	f.p.Unlock()
	f.deltasOut += len(f.deltas.Records)
	f.drain += time.Since(t0)
}

func (f *folder) cutNow() error {
	t0 := time.Now()
	f.p.Lock()
	c, err := f.p.Cut()
	f.p.Unlock()
	if err != nil {
		return err
	}
	t1 := time.Now()
	f.cut += t1.Sub(t0)
	err = c.Apply()
	f.apply += time.Since(t1)
	return err
}

type record struct {
	value  []byte
	millis int64
	input  events.Input
}

// records are the next n events, in one piece of memory.
func records(next func() load.Event, n int) []record {
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
func (f *folder) join(g *load.Generator) (err error) {
	var m events.Message
	n := 0
	g.Joins(func(e *load.Event) {
		if err != nil {
			return
		}
		if err = f.dec.Message(e.Value, e.Millis, &m); err != nil {
			return
		}
		f.p.FoldMessage(&m, f.offsets[0], e.Millis)
		f.offsets[0]++
		if n++; n%2_000 == 0 {
			f.drainNow()
			err = f.cutNow()
		}
	})
	f.drainNow()
	if err == nil {
		err = f.cutNow()
	}
	f.deltasOut = 0
	return err
}

// apart hands out the events of a generator, without reads of a pair that came up in the same batch before.
type apart struct {
	g    *load.Generator
	seen map[string]bool
	n    int // handed out
	dec  events.Decoder
}

func (a *apart) next() load.Event {
	if a.n%foldBatch == 0 {
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

// pair is the channel and the user of an event of a mix without deliveries.
func (a *apart) pair(e *load.Event) string {
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
