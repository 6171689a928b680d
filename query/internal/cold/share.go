// Package cold has what a query reads of channels that are in the store only.
//
//	share.go what a call reads of a partition
package cold

import "github.com/tidemark/tidemark/projections"

// Share is what a call reads of a partition's cold channels. The zero Share is empty. The caller
// closes it.
type Share struct {
	Read *projections.ColdRead  // nil: nothing
	Part *projections.Partition // has what was read; nil: nothing
}

// Source returns the partition with the cold channels, or nil.
func (s *Share) Source() projections.Source {
	if s.Part == nil {
		return nil
	}
	return s.Part
}

// Replace closes the share and loads another read, or none if next is nil.
func (s *Share) Replace(next *projections.ColdRead) (err error) {
	s.Close()
	if s.Read = next; next != nil {
		s.Part, err = next.Load()
	}
	return err
}

// Close ends the read.
func (s *Share) Close() {
	s.Read.Close()
	s.Read, s.Part = nil, nil
}
