package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/processor"
)

// member is a member of a group whose connection to the brokers can be cut.
type member struct {
	name   string
	dir    string
	cfg    processor.Config
	proc   *processor.Processor
	cancel context.CancelFunc
	ended  chan error

	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

// startMember starts a member. It advertises its name.
func (s *stage) startMember(ctx context.Context, name string, standbys int, session time.Duration) (_ *member, err error) {
	m := &member{name: name, ended: make(chan error, 1)}
	if m.dir, err = os.MkdirTemp("", "tidemark-bench-"); err != nil {
		return nil, err
	}
	m.cfg = s.processor(m.dir, 0)
	m.cfg.Advertise, m.cfg.Standbys, m.cfg.SessionTimeout = name, standbys, session
	m.cfg.StopTimeout = time.Second
	m.cfg.ClientOptions = []kgo.Opt{kgo.Dialer(m.dial)}
	if m.proc, err = processor.New(m.cfg); err != nil {
		m.cfg.Cache.Unref()
		return nil, errors.Join(err, os.RemoveAll(m.dir))
	}
	ctx, m.cancel = context.WithCancel(ctx)
	go func() { m.ended <- m.proc.Run(ctx) }()
	return m, nil
}

func (m *member) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	m.conns = append(m.conns, conn)
	return conn, nil
}

// kill cuts the member off from the brokers: to its group it died without leaving.
func (m *member) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, c := range m.conns {
		_ = c.Close() // it may be closed already
	}
}

func (m *member) alive() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.dead
}

// forget removes the stores of partitions that the member had before.
func (m *member) forget() error {
	owned := map[string]bool{}
	for _, st := range m.proc.Status() {
		owned[processor.StoreDir(m.dir, st.Partition)] = true
	}
	entries, err := os.ReadDir(m.dir)
	for _, e := range entries {
		if dir := filepath.Join(m.dir, e.Name()); !owned[dir] {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}

// leave stops the member cleanly.
func (m *member) leave() error {
	m.cancel()
	err := <-m.ended
	m.cfg.Cache.Unref()
	return errors.Join(err, os.RemoveAll(m.dir))
}

// owns waits until the member owns this many live partitions and tails this many standbys, none far
// behind its log.
func (m *member) owns(ctx context.Context, partitions, standbys int) error {
	for {
		ready, lines := m.proc.Ready()
		owned, tailed := m.proc.Status(), m.proc.Standbys()
		near := 0
		for _, st := range append(owned, tailed...) {
			if (st.State == processor.StateLive || st.State == processor.StateStandby) && st.Position[0] > 0 && st.Lag[0]+st.Lag[1]+st.Lag[2] < 1000 {
				near++
			}
		}
		if ready && len(owned) == partitions && len(tailed) == standbys && near == partitions+standbys {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case err := <-m.ended:
			m.ended <- err
			return fmt.Errorf("member %s ended early: %w", m.name, err)
		case <-ctx.Done():
			return fmt.Errorf("member %s does not come to own %d partitions and tail %d: %q: %w", m.name, partitions, standbys, lines, ctx.Err())
		}
	}
}

// join starts the other members of the group, and returns when each owns its share of the
// partitions.
func (s *stage) join(ctx context.Context) (leave func() error, err error) {
	var all []*member
	leave = func() (err error) {
		for _, m := range all {
			err = errors.Join(err, m.leave())
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for i := range s.others {
		m, err := s.startMember(context.WithoutCancel(ctx), fmt.Sprintf("http://member-%d", i), 0, handoverSession)
		if err != nil {
			return nil, errors.Join(err, leave())
		}
		all = append(all, m)
	}
	for _, m := range all {
		if err := m.owns(ctx, int(s.partitions())/(s.others+1), 0); err != nil {
			return nil, errors.Join(err, leave())
		}
	}
	return leave, nil
}
