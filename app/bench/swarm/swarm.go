package swarm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// swarm is a set of clients.
type swarm struct {
	mu    sync.Mutex
	conns map[*bareSocket]struct{}
	tally tally
}

// tally has the counts of all connections.
type tally struct {
	messages, frames, bytes, broken atomic.Int64
	latency                         gauge.Stopwatch
}

// Run carries out the orders on in, a JSON object a line, until in ends. It writes an answer for
// each to out.
func Run(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &swarm{conns: map[*bareSocket]struct{}{}}
	defer s.drop()
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o Order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := answers.Encode(s.carryOut(ctx, o)); err != nil {
			return err
		}
	}
}

func (s *swarm) carryOut(ctx context.Context, o Order) (a Answer) {
	if err := gauge.NeedFiles(uint64(len(o.Connect)) + 200); err != nil {
		return Answer{Error: err.Error()}
	}
	if o.Drop {
		s.drop()
	}
	if len(o.Connect) > 0 {
		s.connect(ctx, o, &a)
	}
	s.mu.Lock()
	a.Open = len(s.conns)
	s.mu.Unlock()
	t := &s.tally
	a.Broken, a.Messages, a.Frames, a.Bytes = t.broken.Load(), t.messages.Load(), t.frames.Load(), t.bytes.Load()
	a.Latency, a.CPU = t.latency.Read(), gauge.SelfCPU().Microseconds()
	if o.Reset {
		t.messages.Store(0)
		t.frames.Store(0)
		t.bytes.Store(0)
		t.latency.Reset()
	}
	return a
}

// drop closes all connections, which ends their readers.
func (s *swarm) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for b := range s.conns {
		_ = b.Close() // the gateway may have closed it
	}
	clear(s.conns)
}

func (s *swarm) connect(ctx context.Context, o Order, a *Answer) {
	var inbox gauge.Stopwatch
	var mu sync.Mutex
	var wg sync.WaitGroup
	users := make(chan int)
	began := time.Now()
	for range min(max(1, o.AtOnce), len(o.Connect)) {
		wg.Go(func() {
			for n := range users {
				began := time.Now()
				later, err := s.connectUser(ctx, o, n)
				inbox.Add(time.Since(began))
				mu.Lock()
				a.Later += later
				if err == nil {
					a.Connected++
				} else {
					a.Failed++
					a.Why = cmp.Or(a.Why, err.Error())
				}
				mu.Unlock()
			}
		})
	}
	for n := range o.Connect {
		users <- n
	}
	close(users)
	wg.Wait()
	a.Seconds, a.Inbox = time.Since(began).Seconds(), inbox.Read()
}

// refusedError is a refusal that asks the client to come back after a while.
type refusedError struct{ retryAfter time.Duration }

func (e refusedError) Error() string { return fmt.Sprintf("told to come back after %s", e.retryAfter) }

// connectUser connects the n-th user. A refused user comes back, up to patience times.
func (s *swarm) connectUser(ctx context.Context, o Order, n int) (later int, err error) {
	const patience = 30
	var from net.IP
	if o.From > 0 {
		from = net.IPv4(127, 0, 1, byte(1+n%o.From))
	}
	for ; ; later++ {
		b, err := s.dial(ctx, o.Addr, o.Connect[n], from)
		if err == nil {
			if o.Leave {
				return later, b.Close()
			}
			s.mu.Lock()
			s.conns[b] = struct{}{}
			s.mu.Unlock()
			go s.listen(b)
			return later, nil
		}
		var refused refusedError
		if !errors.As(err, &refused) || later == patience {
			return later, err
		}
		wait := refused.retryAfter/2 + rand.N(refused.retryAfter)
		if o.From > 0 {
			bound := min(250*time.Millisecond<<later, 20*time.Second) // clients/js/src/backoff.js
			wait = bound/2 + rand.N(bound/2)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return later, ctx.Err()
		}
	}
}

// dial connects a user and reads up to their inbox.
func (s *swarm) dial(ctx context.Context, addr, user string, from net.IP) (*bareSocket, error) {
	b, err := dialBare(ctx, addr, user, from)
	if err != nil {
		return nil, err
	}
	for kind := frameOther; kind != frameInbox; {
		if kind, err = b.next(&s.tally); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	return b, nil
}

// listen counts frames until the connection ends.
func (s *swarm) listen(b *bareSocket) {
	var err error
	for err == nil {
		_, err = b.next(&s.tally)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.conns[b]; there { // not dropped
		s.tally.broken.Add(1)
		delete(s.conns, b)
	}
	_ = b.Close() // it has ended
}
