package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/obs"
)

const (
	// refusalsPerSecond bounds the lines that strangers cause.
	refusalsPerSecond = 100
	// maxPending bounds the bytes that wait for the disk. Lines beyond that are lost.
	maxPending = 8 << 20
	// maxWhy bounds a reason in bytes.
	maxWhy = 500
	// closeTimeout bounds how long Close waits for a disk that hangs.
	closeTimeout = 2 * time.Second
	// checkEvery is how often an idle log checks its file.
	checkEvery = time.Second
)

// errBehind is the reason for a line that was lost before it got to the file.
var errBehind = errors.New("the disk is too slow, and the queue of lines is full")

// Log receives entries. All methods may be called on nil, which keeps nothing, and by any number of
// goroutines.
type Log struct {
	now  func() time.Time
	log  *obs.Seldom
	file *file

	lines           *prometheus.CounterVec
	left, lostTotal prometheus.Counter

	mu      sync.Mutex
	pending [][]byte
	bytes   int       // of pending
	second  time.Time // the second in which refusals are counted
	refused int       // refusals in it
	omitted omission  // lost lines and left-out refusals that no line reports yet

	wake chan struct{}
	stop context.CancelFunc
	done chan struct{}
}

// Open opens a file to append to, or standard error for Stderr. Close must be called. Later
// failures of the file go to logger, at most one line a second.
func Open(name string, stderr io.Writer, logger *slog.Logger) (*Log, error) {
	f, err := openFile(name, stderr)
	if err != nil {
		return nil, err
	}
	l := newLog(f, logger, time.Now)
	l.start()
	return l, nil
}

func newLog(f *file, logger *slog.Logger, now func() time.Time) *Log {
	l := &Log{
		now: now, log: obs.NewSeldom(logger, now), file: f, wake: make(chan struct{}, 1), done: make(chan struct{}),
		lines: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidemark_audit_lines_total", Help: "Lines of the audit log (--audit-log), by kind.",
		}, []string{"kind"}),
		left: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidemark_audit_left_out_total", Help: "Refusals beyond 100 in a second, of which the audit log has only the number.",
		}),
		lostTotal: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidemark_audit_lost_total", Help: "Lines of the audit log that could not be written.",
		}),
	}
	for _, k := range []Kind{Erasure, Admin, Publish, Refusal} {
		l.lines.WithLabelValues(string(k)) // so that the series exists from the start
	}
	return l
}

func (l *Log) start() {
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	const where = "the audit log"
	panicked := func(e *guard.Error) { l.log.Warn("lines of the audit log are lost", guard.Attrs(e)...) }
	guard.Go(where, panicked, func() {
		defer close(l.done)
		guard.Loop(ctx, where, panicked, func() { l.run(ctx) })
	})
}

// Register adds the metrics of the log to r.
func (l *Log) Register(r prometheus.Registerer) {
	if l != nil && r != nil {
		r.MustRegister(l.lines, l.left, l.lostTotal)
	}
}

// Close writes the waiting lines, for two seconds at most.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.stop()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-l.done:
		if err := l.file.close(); err != nil {
			l.log.Warn("the end of the audit log may be lost", "err", err)
		}
	case <-timer.C:
		l.log.Warn("the end of the audit log is lost: its disk does not answer")
	}
}

// Note queues an entry to be written, and returns at once. It writes the first 100 refusals of each
// second, and the number of the others.
func (l *Log) Note(e Entry) {
	if l == nil {
		return
	}
	now := l.now()
	e.Time = now.UTC()
	if len(e.Why) > maxWhy {
		e.Why = e.Why[:maxWhy] + "…"
	}
	line := encode(e)
	if !l.keep(e.Kind, now, line) {
		l.lose(errBehind)
	}
}

// keep queues a line. It reports false if there is no room for it.
func (l *Log) keep(k Kind, now time.Time, line []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k == Refusal && !l.mayRefuse(now) {
		l.omitted.Refusals++
		l.left.Inc()
		return true
	}
	if l.bytes+len(line) > maxPending {
		return false
	}
	l.lines.WithLabelValues(string(k)).Inc()
	l.pending, l.bytes = append(l.pending, line), l.bytes+len(line)
	select {
	case l.wake <- struct{}{}:
	default: // the writer is already awake
	}
	return true
}

// mayRefuse counts a refusal. l.mu is held.
func (l *Log) mayRefuse(now time.Time) bool {
	if now.Sub(l.second).Abs() >= time.Second {
		l.second, l.refused = now, 0
	}
	l.refused++
	return l.refused <= refusalsPerSecond
}

// lose counts a line that is not written. l.mu is not held, so that no call waits while another one
// is logged.
func (l *Log) lose(why error) {
	l.mu.Lock()
	l.omitted.Lost++
	l.mu.Unlock()
	l.lostTotal.Inc()
	l.log.Warn("lines of the audit log are lost, and calls continue without them: make room on its disk, or check the disk", "err", why)
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts, numbers and a time
	return b.Bytes()
}

// run writes lines until ctx is done, and then the rest.
func (l *Log) run(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.wake:
			l.flush(false)
		case <-tick.C:
			l.flush(true)
		case <-ctx.Done():
			l.flush(true)
			return
		}
	}
}

// flush writes the waiting lines and, if it is due, a line that counts the missing ones.
func (l *Log) flush(due bool) {
	now := l.now()
	if err := l.file.follow(now); err != nil {
		l.log.Warn("the audit log was moved away and cannot be opened again; lines go to the old file", "err", err)
	}
	l.mu.Lock()
	lines := l.pending
	l.pending, l.bytes = nil, 0
	missing := omission{Time: now.UTC(), Kind: leftOut}
	if due {
		missing.Refusals, missing.Lost = l.omitted.Refusals, l.omitted.Lost
	}
	l.mu.Unlock()
	for _, line := range lines {
		if err := l.file.append(line); err != nil {
			l.lose(err)
		}
	}
	if missing.Refusals+missing.Lost == 0 {
		return
	}
	if l.file.append(encode(missing)) == nil {
		l.mu.Lock()
		l.omitted.Refusals -= missing.Refusals
		l.omitted.Lost -= missing.Lost
		l.mu.Unlock()
	}
}
