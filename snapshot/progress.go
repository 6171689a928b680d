package snapshot

import (
	"sync"
	"time"
)

// Phase is a step of the work on a snapshot.
type Phase string

// Phases, in the order in which they come.
const (
	PhaseCheckpoint Phase = "checkpoint" // hard links to the store's files
	PhaseHash       Phase = "hash"
	PhaseUpload     Phase = "upload"
	PhaseDownload   Phase = "download"
	PhaseCheck      Phase = "check" // the digest of all records
)

// Progress is the progress of a phase.
type Progress struct {
	Phase       Phase
	Done, Total int64         // bytes; Total 0 = not known
	Rate        float64       // bytes a second, over the phase
	ETA         time.Duration // until the end of the phase; 0 = not known
}

// Report receives the progress. It is called often, by one goroutine at a time, and must be quick.
// It may be nil.
type Report func(Progress)

// meter measures a phase.
type meter struct {
	report Report
	now    func() time.Time
	began  time.Time

	mu sync.Mutex
	p  Progress
}

func (r *Repository) meter(report Report, phase Phase, total int64) *meter {
	m := &meter{report: report, now: r.o.Now, began: r.o.Now(), p: Progress{Phase: phase, Total: total}}
	m.add(0)
	return m
}

func (m *meter) add(n int64) {
	if m.report == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Done += n
	if elapsed := m.now().Sub(m.began).Seconds(); elapsed > 0.05 {
		m.p.Rate = float64(m.p.Done) / elapsed
	}
	if m.p.Rate > 0 {
		m.p.ETA = time.Duration(float64(max(m.p.Total-m.p.Done, 0)) / m.p.Rate * float64(time.Second))
	}
	m.report(m.p)
}

// Write counts the bytes that pass.
func (m *meter) Write(b []byte) (int, error) {
	m.add(int64(len(b)))
	return len(b), nil
}
