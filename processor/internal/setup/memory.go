package setup

import "sync/atomic"

// Memory shares the memory for hot state among the stores that are open.
type Memory struct {
	Bytes  int64 // of all; 0: no limit
	stores atomic.Int32
}

// Share returns how many bytes one store may use; 0: no limit.
func (m *Memory) Share() int64 { return m.Bytes / int64(max(m.stores.Load(), 1)) }

// Opening counts a store that is being opened, until the returned function is called once.
func (m *Memory) Opening() (closed func()) {
	m.stores.Add(1)
	return func() { m.stores.Add(-1) }
}

// Sharing returns a Fold that calls closed when it has been closed.
func Sharing(f Fold, closed func()) Fold { return &sharing{f, closed} }

type sharing struct {
	Fold
	closed func()
}

// Close implements Fold.
func (s *sharing) Close() error {
	defer s.closed()
	return s.Fold.Close()
}
