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
	messages [256]events.Message
	reads    [256]events.Read
	news     [256]events.Delivery
	warmM    []*events.Message
	warmR    []*events.Read
	deltas   projections.Deltas
	offsets  [events.NumInputs]int64
	silent   bool // changes are settled, and nobody is told

	phases
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
	f := &folder{cache: pebble.NewCache(128<<20 + 2*memtable)}
	var err error
	f.p, err = projections.Open(dir, id, projections.Options{Cache: f.cache, MemTableSize: memtable})
	return f, err
}

func (f *folder) close() error {
	defer f.cache.Unref()
	return f.p.Close()
}

// foldAll folds records in batches of 256. It drains every 10,000 and cuts every 300,000, or if nobody is told anything
// drains and cuts when a silent partition does.
func (f *folder) foldAll(recs []record) error {
	for from := 0; from < len(recs); from += 256 {
		part := recs[from:min(from+256, len(recs))]
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
		crossed := func(n int) bool { return from/n != (from+256)/n }
		cutDue := crossed(300_000)
		if f.silent {
			cutDue = f.p.DirtyBytes() >= max(32<<20, f.p.RareCut())
		}
		if cutDue || !f.silent && crossed(10_000) {
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

// records are the next n events of a generator, in one piece of memory.
func records(g *load.Generator, n int) []record {
	var arena []byte
	recs := make([]record, 0, n)
	ends := make([]int, 0, n)
	for range n {
		e := g.Next()
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
