package importer

import "github.com/zeebo/xxh3"

// plan has the events of the source in order, and the counters of the passes over them.
type plan struct {
	dir      string
	cut      int64 // older messages become a count; 0: none
	now      int64 // when the import began
	clock    int64 // later times are wrong
	problems *Problems

	events   *sorter // in the order of time
	names    *sorter // messages and pointers by message id
	before   *sorter // events before the cut that are written
	pointers *sorter // by channel, user and thread
	singles  *sorter // single reads, by channel and user
	reads    *sorter // of the second pass

	channels map[string]*channel
	threads  map[pair]*thread // with a cut: the threads of the source
	posters  map[pair]*poster // the newest messages of each user
	byID     bool             // a pointer names a message by its id

	joins joins     // that make one event
	due   deletions // of written messages
	sink  sink
	note  func()
}

// pair identifies a user in a channel or thread, or a thread, by a hash of the ids. There are
// millions of them.
type pair [16]byte

func pairOf(ids ...string) pair {
	var buf [256]byte
	b := buf[:0]
	for _, id := range ids {
		b = append(append(b, id...), 0)
	}
	return xxh3.Hash128(b).Bytes()
}

// channel has the counters of the passes for one channel.
type channel struct {
	id      string
	direct  bool
	index   uint32             // messages of the source so far
	first   int64              // time of the first message
	counted uint32             // before the cut: messages that the seed counts
	seed    uint32             // size of the seed
	seq     uint32             // messages written
	next    string             // the first one after the seed
	waiting []pointer          // to the newest message, until the next one is known
	bySeq   map[uint32][]Event // pointers that name the n-th message of the source
}

// thread has what an import with a cut needs to know about a thread.
type thread struct {
	last   int64  // time of its newest reply
	named  bool   // a pointer or a follow names it
	author string // of its root, if that is older than the cut
}

// poster has the effect of a user's own messages on their pointer.
type poster struct {
	last  uint32 // number of the newest counted one
	own   uint32 // before the cut: how many of them the seed has
	newer uint32 // before the cut: channel.counted at the newest one
}

func newPlan(dir string, cut, now int64, problems *Problems) *plan {
	p := &plan{
		dir: dir, cut: cut, now: now, clock: now, problems: problems,
		channels: map[string]*channel{}, threads: map[pair]*thread{}, posters: map[pair]*poster{}, note: func() {},
	}
	for _, s := range []**sorter{&p.events, &p.names, &p.before, &p.pointers, &p.singles, &p.reads} {
		*s = newSorter(dir)
	}
	return p
}

func (p *plan) close() {
	for _, s := range []*sorter{p.events, p.names, p.before, p.pointers, p.singles, p.reads} {
		s.close()
	}
}

func (p *plan) channel(id string) *channel {
	c := p.channels[id]
	if c == nil {
		c = &channel{id: id}
		p.channels[id] = c
	}
	return c
}

// place adds an event to the order.
func (p *plan) place(key []byte, e *Event) error { return p.events.add(key, e.append(nil)) }

func (p *plan) threadOf(channel, id string) *thread {
	name := pairOf(channel, id)
	t := p.threads[name]
	if t == nil {
		t = &thread{}
		p.threads[name] = t
	}
	return t
}

func (p *plan) poster(channel, user, thread string) *poster {
	name := pairOf(channel, user, thread)
	x := p.posters[name]
	if x == nil {
		x = &poster{}
		p.posters[name] = x
	}
	return x
}
