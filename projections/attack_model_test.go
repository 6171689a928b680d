package projections

import (
	"errors"
	"fmt"
	"math/rand"
	randv2 "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// newLongLog returns a random log that fills log blocks.
func newLongLog(seed int64, messages, reads int) *randomLog {
	l := &randomLog{rng: rand.New(rand.NewSource(seed)), n: messages}
	now := int64(1000)
	for i := range messages {
		now += l.rng.Int63n(8) - 3
		l.messages = append(l.messages, logRecord{message: l.message(i, now), timestamp: now})
	}
	for i := range reads {
		t := l.messages[i*messages/reads].timestamp + l.rng.Int63n(7) - 3
		l.reads = append(l.reads, logRecord{read: l.read(t), timestamp: t})
	}
	return l
}

func (l *randomLog) end() Position {
	return Position{int64(len(l.messages)), int64(len(l.reads))}
}

// attackOptions returns the options of the attacked stores.
func attackOptions(fs vfs.FS) Options { return Options{FS: fs, MemTableSize: 256 << 10} }

// foldOn folds the rest of the log into an open store as the runtime does, without Kafka: with
// cuts, flushes and compactions in between, as the seed determines.
func foldOn(p *Partition, l *randomLog, seed uint64) error {
	rng := randv2.New(randv2.NewPCG(seed, 11))
	var d Deltas
	for end := l.end(); p.rules.Position() != end; {
		pos := p.rules.Position()
		l.foldTo(p, min(end[0], pos[0]+rng.Int64N(24)), min(end[1], pos[1]+rng.Int64N(16)), func() bool { return rng.IntN(2) == 0 })
		p.Drain(&d, true)
		d.Reset()
		c, err := p.Cut()
		if err == nil {
			err = c.Apply()
		}
		if err == nil && rng.IntN(2) == 0 {
			err = p.db.Flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// foldStore opens the store, folds the rest of the log and closes the store. It returns the first
// error.
func foldStore(fs vfs.FS, l *randomLog, seed uint64) error {
	p, err := Open("store", testIdentity(), attackOptions(fs))
	if err != nil {
		return err
	}
	if err := foldOn(p, l, seed); err != nil {
		_ = p.Close()
		return err
	}
	return p.Close()
}

// models are the folds of the prefixes of a log, one for each position that a store may have.
type models struct {
	log   *randomLog
	dumps map[Position]string
}

func newModels(l *randomLog) *models { return &models{l, map[Position]string{}} }

func (m *models) at(t *testing.T, pos Position) string {
	if m.dumps[pos] == "" {
		p := mustOpen(t, vfs.NewMem(), testIdentity())
		m.log.foldTo(p, pos[0], pos[1], func() bool { return true })
		mustCut(t, p)
		m.dumps[pos] = everything(p)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return m.dumps[pos]
}

// judge checks invariant O1: an opened store equals the fold of the log up to its position.
func (m *models) judge(t *testing.T, p *Partition) error {
	got := everything(p)
	if err := p.rules.Err(); err != nil {
		return fmt.Errorf("%w: %w", errHonest, err)
	}
	if want := m.at(t, p.rules.Position()); got != want {
		return fmt.Errorf("wrong answers at position %v:\n%s", p.rules.Position(), difference(got, want))
	}
	return nil
}

// errHonest marks the error of a store that reports that it is broken.
var errHonest = errors.New("the store says that it is broken")

// everything returns all answers about the users and channels of a random log: records, digest,
// views, explanations, inboxes. For a broken store it is meaningless.
func everything(p *Partition) string {
	var b strings.Builder
	err := p.Dump(func(k, v []byte) error { fmt.Fprintf(&b, "%q %x\n", k, v); return nil })
	if err != nil {
		p.rules.Fail(err)
	}
	fmt.Fprintf(&b, "digest %x\n", p.rules.Digest())
	for _, u := range logUsers {
		for _, c := range logChannels {
			v, ok := p.View(u, c)
			x, _ := p.Explain(u, c)
			fmt.Fprintf(&b, "%s %s: %t %+v %+v\n", u, c, ok, v, x)
		}
		var inbox []string
		_ = p.Inbox(u, func(e *InboxEntry) bool { // Err has its error
			inbox = append(inbox, fmt.Sprintf("inbox of %s: %+v\n", u, *e))
			return true
		})
		slices.Sort(inbox) // it has no order
		b.WriteString(strings.Join(inbox, ""))
	}
	for _, c := range logChannels {
		v, ok := p.Channel(c)
		fmt.Fprintf(&b, "%s: %t %+v\n", c, ok, v)
	}
	return b.String()
}

// difference returns the lines that only one of the texts has.
func difference(got, want string) string {
	count := map[string]int{}
	for _, line := range strings.Split(want, "\n") {
		count[line]--
	}
	for _, line := range strings.Split(got, "\n") {
		count[line]++
	}
	var out []string
	for line, n := range count {
		if n > 0 {
			out = append(out, "got:  "+line)
		} else if n < 0 {
			out = append(out, "want: "+line)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// attempt runs fn as the runtime runs a step: a panic becomes an error. A call that takes too long
// is a hang.
func attempt(t *testing.T, what string, fn func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fmt.Errorf("panic: %v", r)
			}
		}()
		done <- fn()
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * time.Minute):
		panic(what + " hangs") // with the stacks of all goroutines
	}
}
