package sink

import "github.com/twmb/franz-go/pkg/kadm"

// Progress is how far a sink is in a partition that it owns. Each field is the offset of a next
// record.
type Progress struct {
	Stored int64 // the last known offset that the target has for the partition
	Next   int64 // everything below was taken
	Commit int64 // the group's offset
	End    int64 // last known end of the log
}

func (p *Progress) progress() *Progress { return p }

// Owned is the partitions that a member of the group owns now. P is what a sink keeps of one, and
// embeds Progress. Owned is not safe for concurrent use.
type Owned[P interface{ progress() *Progress }] map[Partition]P

// Release drops partitions that others take over, and their lag.
func (o Owned[P]) Release(gone map[string][]int32, lag Lag) {
	for topic, numbers := range gone {
		for _, n := range numbers {
			p := Partition{Topic: topic, Number: n}
			delete(o, p)
			lag.Drop(p)
		}
	}
}

// Uncommitted returns the stored offsets that the group does not have. They count as committed.
func (o Owned[P]) Uncommitted() (offsets Offsets) {
	for name, of := range o {
		if p := of.progress(); p.Stored != p.Commit {
			offsets.Add(name, p.Stored)
			p.Commit = p.Stored
		}
	}
	return offsets
}

// SetEnds updates the ends of the logs, and the lag.
func (o Owned[P]) SetEnds(ends kadm.ListedOffsets, lag Lag) {
	for name, of := range o {
		p := of.progress()
		if end, ok := ends.Lookup(name.Topic, name.Number); ok && end.Err == nil {
			p.End = max(p.End, end.Offset)
			lag.Put(name, p.End-p.Stored)
		}
	}
}
