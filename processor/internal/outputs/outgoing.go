package outputs

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/projections"
)

// Outgoing is what a partition publishes at a time: the records of a drain, and dead letters. The
// records are numbered, dead letters last.
//
// A drain may have a hundred thousand records, so Outgoing refers to them and makes a record of the
// client only of those that the client produces.
type Outgoing struct {
	Topics  [3]string // names by projections.OutTopic
	Deltas  []projections.OutRecord
	Headers map[int32][]kgo.RecordHeader // of those of Deltas that carry a trace
	Dead    []*kgo.Record
}

// Len returns the number of records.
func (o *Outgoing) Len() int { return len(o.Deltas) + len(o.Dead) }

func (o *Outgoing) isDead(i int32) bool { return int(i) >= len(o.Deltas) }

// Place returns the topic and the partition to which record i goes.
func (o *Outgoing) Place(i int32) (topic string, partition int32) {
	if o.isDead(i) {
		r := o.Dead[int(i)-len(o.Deltas)]
		return r.Topic, r.Partition
	}
	d := &o.Deltas[i]
	return o.Topics[d.Topic], d.Partition
}

// Read makes r record i. It does not copy key and value.
func (o *Outgoing) Read(i int32, r *kgo.Record) {
	if o.isDead(i) {
		*r = *o.Dead[int(i)-len(o.Deltas)]
		return
	}
	d := &o.Deltas[i]
	r.Topic, r.Partition, r.Key, r.Value, r.Headers = o.Topics[d.Topic], d.Partition, d.Key, d.Value, o.Headers[i]
}

// Records returns the records in the client's form. It does not copy keys and values.
func (o *Outgoing) Records() []*kgo.Record {
	all, list := make([]kgo.Record, o.Len()), make([]*kgo.Record, o.Len())
	for i := range all {
		o.Read(int32(i), &all[i]) //nolint:gosec // a drain has fewer
		list[i] = &all[i]
	}
	return list
}

// some are those records of an Outgoing that are listed.
type some struct {
	of    *Outgoing
	which []int32
}

// Len, Place and Read implement sender.Records.

func (s some) Len() int { return len(s.which) }

func (s some) Place(i int32) (topic string, partition int32) { return s.of.Place(s.which[i]) }

func (s some) Read(i int32, r *kgo.Record) { s.of.Read(s.which[i], r) }
