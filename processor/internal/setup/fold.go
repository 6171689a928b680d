package setup

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Fold is the part of a projection that a partition's goroutine uses. Tests replace it to make a
// fold panic or a disk fail. In service it is always a *projections.Partition.
type Fold interface {
	Lock()
	Unlock()
	TimeHold(cause string) (done func())

	Fetch(channels [][]byte) error
	Rest()
	Listed() bool
	List(n int) (more bool, err error)
	Crowded() float64
	AnyCold() bool
	Warm(messages []*events.Message, reads []*events.Read)
	FoldMessage(m *events.Message, offset, timestamp int64) projections.Outcome
	FoldRead(r *events.Read, offset, timestamp int64) projections.Outcome
	FoldDelivery(d *events.Delivery, offset, timestamp int64) projections.Outcome
	Skip(in events.Input, next int64)

	Quiet(on bool)
	Republish(since projections.Position)
	Drain(d *projections.Deltas, fanout bool)
	DrainRecords(d *projections.Deltas)
	Undrained(fanout bool) int
	DirtyBytes() int64
	RareCut() int64
	TakeCut() (Cut, error)

	Position() projections.Position
	StoredPosition() projections.Position
	Err() error
	Full() error
	Close() error

	// Projection returns the partition for queries.
	Projection() *projections.Partition
}

// Cut is encoded dirty state that waits until the records published with it are acknowledged.
type Cut interface {
	Apply() error
	// Forgets reports whether the store will no longer have some keys that were published.
	Forgets() bool
}

// projection is the Fold of a *projections.Partition.
type projection struct{ *projections.Partition }

// FoldOf returns the Fold of an open partition.
func FoldOf(p *projections.Partition) Fold { return projection{p} }

// TakeCut implements Fold.
func (p projection) TakeCut() (Cut, error) {
	c, err := p.Cut()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Projection implements Fold.
func (p projection) Projection() *projections.Partition { return p.Partition }

// Open opens the store of a partition as projections.Open does.
func Open(dir string, id projections.Identity, o projections.Options) (Fold, error) {
	p, err := projections.Open(dir, id, o)
	if err != nil {
		return nil, err
	}
	return FoldOf(p), nil
}
