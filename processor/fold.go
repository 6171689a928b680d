package processor

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// fold is what a partition's goroutine needs of its projection. It is a seam for tests, which let a fold panic or a
// disk fail; in service it is always a *projections.Partition.
type fold interface {
	Lock()
	Unlock()

	Warm(messages []*events.Message, reads []*events.Read)
	FoldMessage(m *events.Message, offset, timestamp int64) projections.Outcome
	FoldRead(r *events.Read, offset, timestamp int64) projections.Outcome
	FoldDelivery(d *events.Delivery, offset, timestamp int64) projections.Outcome
	Skip(in events.Input, next int64)

	Quiet(on bool)
	Drain(d *projections.Deltas, fanout bool)
	DrainRecords(d *projections.Deltas)
	Undrained() int
	DirtyBytes() int64
	RareCut() int64
	takeCut() (cut, error)

	Position() projections.Position
	StoredPosition() projections.Position
	Err() error
	Full() error
	Close() error

	// projection is what queries read.
	projection() *projections.Partition
}

// cut is dirty state that waits for its acknowledgements.
type cut interface{ Apply() error }

// projection is the fold of a *projections.Partition.
type projection struct{ *projections.Partition }

func (p projection) takeCut() (cut, error) {
	c, err := p.Cut()
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (p projection) projection() *projections.Partition { return p.Partition }

func openProjection(dir string, id projections.Identity, o projections.Options) (fold, error) {
	p, err := projections.Open(dir, id, o)
	if err != nil {
		return nil, err
	}
	return projection{p}, nil
}
