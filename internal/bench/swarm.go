package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A swarm is the clients of the gateway's bench. It runs in a process of its own, so that what the gateway's process takes
// is the gateway's, and says on its standard output, a JSON object a line, what came of the orders on its standard input.
type swarm struct {
	mu    sync.Mutex
	conns map[*bareSocket]struct{}
	tally tally
}

// order is what a swarm is to do.
type order struct {
	// Connect is the users who connect, AtOnce of them at a time. Each waits for his inbox and stays, or leaves again.
	Connect []string `json:"connect,omitempty"`
	Addr    string   `json:"addr,omitempty"`
	AtOnce  int      `json:"at_once,omitempty"`
	Leave   bool     `json:"leave,omitempty"`
	// From is from how many addresses of the loopback network they come, in turn; 0: from one. Then they do not hear after what
	// time to come back, as a page does not, and wait as the JavaScript client does.
	From int `json:"from,omitempty"`
	// Drop breaks all connections, without a word.
	Drop bool `json:"drop,omitempty"`
	// Afresh forgets what was counted, once the order is carried out.
	Afresh bool `json:"afresh,omitempty"`
}

// answer is what a swarm has counted when it has carried out an order.
type answer struct {
	Error string `json:"error,omitempty"` // of the order as a whole
	// What came of Connect: users with an inbox; attempts that were told to come back later, which they did; users who got
	// none, and why the first did not; the seconds that it took altogether; and of each the time from dialing to inbox.
	Connected int     `json:"connected,omitempty"`
	Later     int     `json:"later,omitempty"`
	Failed    int     `json:"failed,omitempty"`
	Why       string  `json:"why,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`
	Inbox     spread  `json:"inbox"`

	Open     int    `json:"open"`     // connections
	Broken   int64  `json:"broken"`   // connections that ended otherwise than by Drop, since the beginning
	Messages int64  `json:"messages"` // frames message.new
	Frames   int64  `json:"frames"`   // of all kinds
	Bytes    int64  `json:"bytes"`
	Latency  spread `json:"latency"` // from a message's production, which its id tells, to its frame
	CPU      int64  `json:"cpu_us"`  // of this process, since it began
}

// tally is what the connections count together.
type tally struct {
	messages, frames, bytes, broken atomic.Int64
	latency                         stopwatch
}

// Swarm carries out orders until in ends.
func Swarm(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &swarm{conns: map[*bareSocket]struct{}{}}
	defer s.drop()
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
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

func (s *swarm) carryOut(ctx context.Context, o order) (a answer) {
	if err := needFiles(uint64(len(o.Connect)) + 200); err != nil {
		return answer{Error: err.Error()}
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
	a.Latency, a.CPU = t.latency.read(), selfCPU().Microseconds()
	if o.Afresh {
		t.messages.Store(0)
		t.frames.Store(0)
		t.bytes.Store(0)
		t.latency.reset()
	}
	return a
}

// drop ends all connections, which their readers then notice.
func (s *swarm) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for b := range s.conns {
		_ = b.Close() // whatever the gateway makes of it
	}
	clear(s.conns)
}

func (s *swarm) connect(ctx context.Context, o order, a *answer) {
	var inbox stopwatch
	var mu sync.Mutex
	var wg sync.WaitGroup
	users := make(chan int)
	began := time.Now()
	for range min(max(1, o.AtOnce), len(o.Connect)) {
		wg.Go(func() {
			for n := range users {
				began := time.Now()
				later, err := s.arrive(ctx, o, n)
				inbox.add(time.Since(began))
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
	a.Seconds, a.Inbox = time.Since(began).Seconds(), inbox.read()
}

// laterError is a refusal that says: come back after a while.
type laterError struct{ after time.Duration }

func (e laterError) Error() string { return fmt.Sprintf("told to come back after %s", e.after) }

// arrive connects the n-th user, who comes back as often as he is told to.
func (s *swarm) arrive(ctx context.Context, o order, n int) (later int, err error) {
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
		var l laterError
		if !errors.As(err, &l) || later == patience {
			return later, err
		}
		wait := l.after/2 + rand.N(l.after)
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

// dial connects and reads up to the inbox.
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

// listen counts what comes until the connection ends.
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

// stampedID is an id that tells when its message was produced.
func stampedID(at time.Time, n int) string {
	return "t" + strconv.FormatInt(at.UnixNano(), 10) + "-" + strconv.Itoa(n)
}

// hive is a swarm's process, seen from the bench.
type hive struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startHive runs a program that is a Swarm.
func startHive(ctx context.Context, program []string, errors io.Writer) (*hive, error) {
	h := &hive{cmd: exec.CommandContext(ctx, program[0], program[1:]...)}
	h.cmd.Stderr = errors
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.out = bufio.NewReader(out)
	return h, h.cmd.Start()
}

// tell gives an order and waits for what comes of it.
func (h *hive) tell(o order) (a answer, err error) {
	if err := json.NewEncoder(h.in).Encode(o); err != nil {
		return a, fmt.Errorf("the clients' process: %w", err)
	}
	line, err := h.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		return a, fmt.Errorf("the clients' process: %w", err)
	}
	if a.Error != "" {
		return a, errors.New("the clients' process: " + a.Error)
	}
	return a, nil
}

// connect has users connect, all of whom have to get their inbox in the end.
func (h *hive) connect(o order) (answer, error) {
	a, err := h.tell(o)
	if err == nil && a.Failed > 0 {
		err = fmt.Errorf("%d of %d users did not get their inbox: %s", a.Failed, len(o.Connect), a.Why)
	}
	return a, err
}

// close ends the process.
func (h *hive) close() error { return errors.Join(h.in.Close(), h.cmd.Wait()) }
