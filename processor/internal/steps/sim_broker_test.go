package steps

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/workload"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/projections"
)

// simBroker is the cluster of a simulated run: logs, the group, and a reader of the outputs.
type simBroker struct {
	partitions int32
	logs       [][events.NumInputs]simLog
	unread     []*kgo.Record // of all partitions, in the order in which they were written
	channels   []*kgo.Record // of tidemark.channels, as unread
	dead       []*kgo.Record

	committed []projections.Position
	texts     []string     // the metadata texts
	owner     []*simMember // in the group's view
	fenced    map[outputs.Fence]bool
	events    *workload.Workload
}

// simLog is one partition of an input.
type simLog struct {
	records    []*kgo.Record // all records that ever existed, in the order of their offsets
	start, end int64
}

func newSimBroker(p *simPlan) *simBroker {
	b := &simBroker{partitions: p.partitions, logs: make([][events.NumInputs]simLog, p.partitions), owner: make([]*simMember, p.partitions),
		texts: make([]string, p.partitions), fenced: map[outputs.Fence]bool{}}
	for range p.partitions {
		b.committed = append(b.committed, projections.Position{outputs.None, outputs.None, outputs.None})
	}
	r := rand.New(rand.NewPCG(p.seed, 4))
	var busy []int
	for range 1 + r.IntN(3) {
		busy = append(busy, 2+r.IntN(4))
	}
	b.events = workload.New(p.seed, workload.Company{Partitions: p.partitions, People: 6, Busy: busy, Parts: p.parts, Step: p.pace}, b.produce)
	return b
}

func (b *simBroker) produce(r *kgo.Record) {
	in := slices.Index(events.InputTopics[:], r.Topic)
	l := &b.logs[r.Partition][in]
	r.Offset = l.end
	l.end++
	l.records = append(l.records, r)
}

// fetch returns up to n records of a log, from an offset on.
func (b *simBroker) fetch(partition int32, in events.Input, from int64, n int) []*kgo.Record {
	l := &b.logs[partition][in]
	at, _ := slices.BinarySearchFunc(l.records, max(from, l.start), func(r *kgo.Record, offset int64) int { return int(r.Offset - offset) })
	return slices.Clone(l.records[at:min(at+n, len(l.records))])
}

func (b *simBroker) bounds(partition int32) (start, end projections.Position) {
	for in := range b.logs[partition] {
		start[in], end[in] = b.logs[partition][in].start, b.logs[partition][in].end
	}
	return start, end
}

// last returns the position after everything is folded. A log may end with unreadable offsets.
func (b *simBroker) last(partition int32) (p projections.Position) {
	for in := range b.logs[partition] {
		if l := &b.logs[partition][in]; len(l.records) > 0 {
			p[in] = l.records[len(l.records)-1].Offset + 1
		}
	}
	return p
}

// records returns all input records of a partition, or of all partitions for -1.
func (b *simBroker) records(partition int32) (out []*kgo.Record) {
	for n := range b.logs {
		if partition >= 0 && int(partition) != n {
			continue
		}
		for in := range b.logs[n] {
			out = append(out, b.logs[n][in].records...)
		}
	}
	return out
}

// write appends output records that a worker has sent through a producer, and reports whether it
// took all of them. It copies the records, because the worker reuses their memory.
func (b *simBroker) write(by, producer int64, records []*kgo.Record) (all bool) {
	all = true
	for _, r := range records {
		if b.fenced[outputs.Fence{Producer: producer, Topic: r.Topic, Partition: r.Partition}] {
			all = false
			continue
		}
		c := &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: slices.Clone(r.Key), Value: slices.Clone(r.Value),
			Headers: r.Headers, ProducerID: by}
		switch r.Topic {
		case events.TopicUnread:
			c.Offset = int64(len(b.unread))
			b.unread = append(b.unread, c)
		case events.TopicChannels:
			c.Offset = int64(len(b.channels))
			b.channels = append(b.channels, c)
		case events.TopicDeadLetters:
			c.Offset = int64(len(b.dead))
			b.dead = append(b.dead, c)
		}
	}
	return all
}

// raise is fencer.raise.
func (b *simBroker) raise(fences map[outputs.Fence]*kgo.Record) {
	for at, r := range fences {
		if b.fenced[at] {
			continue
		}
		b.fenced[at] = true
		c := &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: slices.Clone(r.Key), Value: slices.Clone(r.Value),
			ProducerID: at.Producer, ProducerEpoch: outputs.FenceEpoch}
		switch r.Topic {
		case events.TopicChannels:
			c.Offset = int64(len(b.channels))
			b.channels = append(b.channels, c)
		case events.TopicUnread:
			c.Offset = int64(len(b.unread))
			b.unread = append(b.unread, c)
		}
	}
}

var (
	errSimCommit = errors.New("simulated: the coordinator does not answer")
	errSimMember = errors.New("simulated: the member is not known")
)

// commit is a member's commit. It ignores partitions that the group has given to others.
func (b *simBroker) commit(m *simMember, offsets map[string]map[int32]kgo.EpochOffset, texts map[int32]string) (found, refused error) {
	for n := range b.committed {
		of, ok := offsets[events.InputTopics[0]][int32(n)]
		if !ok {
			continue
		}
		if b.owner[n] != m {
			refused = errSimMember
			continue
		}
		at := projections.Position{of.Offset}
		for in := 1; in < events.NumInputs; in++ {
			at[in] = offsets[events.InputTopics[in]][int32(n)].Offset
		}
		if !at.Dominates(b.committed[n]) {
			found = errors.Join(found, simError("%s commits partition %d at %v, the group already has %v (G4)", m.name, n, at, b.committed[n]))
		}
		b.committed[n], b.texts[n] = at, texts[int32(n)]
	}
	return found, refused
}
