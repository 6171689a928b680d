package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark/tidemark/app/bench/feed"
	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/traffic"
)

// handoverSession is the shortest session timeout that brokers allow by default.
const handoverSession = 6 * time.Second

// Handover measures for how long nobody answers for a partition, under a light load: when the
// partition moves in an orderly way, and when its owner dies. It queries the member that stays,
// which forwards to the owner as the query service does.
func Handover(ctx context.Context, env Env) ([]gauge.Result, error) {
	var out []gauge.Result
	err := on(ctx, env, traffic.Mixes["B"], func(s *stage) error {
		if err := s.write(ctx, 1_000_000); err != nil {
			return err
		}
		for _, h := range []handover{
			{name: "a member joins", standbys: 1, members: 1, joins: true, limit: time.Second},
			{name: "a member stops, with a standby", standbys: 1, members: 2, limit: time.Second},
			{name: "a member dies, with a standby", standbys: 1, members: 2, dies: true, limit: handoverSession + time.Second},
			{name: "a member dies, folded again from the topics", standbys: 0, members: 2, dies: true},
		} {
			h.session = handoverSession
			r, err := s.handover(ctx, h)
			if err != nil {
				return fmt.Errorf("%s: %w", h.name, err)
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// handover is what happens to a group.
type handover struct {
	name     string
	standbys int
	members  int // at first
	joins    bool
	dies     bool          // else the second member stops cleanly, unless one joins
	session  time.Duration // session timeout
	limit    time.Duration // 0: none
}

func (s *stage) handover(ctx context.Context, h handover) (_ gauge.Result, err error) {
	s.env.report("%s", h.name)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	w := &witness{}
	start := func(name string) (*member, error) {
		m, err := s.startMember(ctx, name, h.standbys, h.session)
		if err == nil {
			w.members.Store(name, m)
		}
		return m, err
	}
	defer func() {
		w.members.Range(func(_, m any) bool { err = errors.Join(err, m.(*member).leave()); return true })
		_, e := s.adm.DeleteGroups(context.WithoutCancel(ctx), s.prefix+"group") // the next begins anew
		err = errors.Join(err, e)
	}()
	stays, err := start("http://stays")
	if err != nil {
		return gauge.Result{}, err
	}
	goes := stays
	if h.members > 1 {
		if goes, err = start("http://goes"); err != nil {
			return gauge.Result{}, err
		}
	}
	share := livePartitions / h.members
	for _, m := range []*member{stays, goes} {
		if err := m.owns(ctx, share, share*min(h.standbys, h.members-1)); err != nil {
			return gauge.Result{}, err
		}
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	var wrote error
	others.Go(func() { wrote = s.trickle(ctx, stop) })
	for n := range int32(livePartitions) {
		others.Go(func() { w.watch(ctx, stop, stays, n) })
	}
	if err = w.all(ctx); err == nil {
		switch {
		case h.joins:
			var comes *member
			if comes, err = start("http://comes"); err == nil {
				err = comes.owns(ctx, livePartitions/2, livePartitions/2)
			}
		case h.dies:
			if h.standbys == 0 {
				if err = stays.forget(); err != nil {
					break
				}
			}
			goes.kill()
			err = stays.owns(ctx, livePartitions, 0)
		default:
			w.members.Delete(goes.name)
			if err = goes.leave(); err == nil {
				err = stays.owns(ctx, livePartitions, 0)
			}
		}
	}
	if err == nil {
		err = w.all(ctx)
	}
	close(stop)
	others.Wait()
	if err = errors.Join(err, wrote); err != nil {
		return gauge.Result{}, err
	}
	longest := time.Duration(w.longest.Load())
	r := gauge.Result{Name: h.name, Note: fmt.Sprintf("longest time without answers %s, %d partitions, session timeout %s",
		longest.Round(time.Millisecond), livePartitions, h.session)}
	if h.limit > 0 {
		r.Goals = []gauge.Goal{gauge.AtMost("s without answers", longest.Seconds(), h.limit.Seconds())}
	}
	return r, nil
}

// trickle writes a few hundred events per second until stop is closed.
func (s *stage) trickle(ctx context.Context, stop <-chan struct{}) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := s.produce(ctx, s.client, feed.Next(s.gen, 25)); err != nil {
				return err
			}
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// witness queries partitions continuously.
type witness struct {
	members  sync.Map // *member by name
	answered [livePartitions]atomic.Int64
	longest  atomic.Int64 // nanoseconds
}

// watch queries one member about a partition until stop is closed.
func (w *witness) watch(ctx context.Context, stop <-chan struct{}, asked *member, n int32) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	last := time.Now()
	for {
		if w.answers(ctx, asked, n) {
			now := time.Now()
			for gap := int64(now.Sub(last)); ; {
				longest := w.longest.Load()
				if gap <= longest || w.longest.CompareAndSwap(longest, gap) {
					break
				}
			}
			last = now
			w.answered[n].Add(1)
		}
		select {
		case <-tick.C:
		case <-stop:
			return
		}
	}
}

// answers reports whether a member answers for a partition: itself, or through the owner in its
// view of the group.
func (w *witness) answers(ctx context.Context, asked *member, n int32) bool {
	if _, err := asked.proc.Live(n); err == nil {
		return true
	}
	url, err := asked.proc.Owner(ctx, n)
	if err != nil {
		return false
	}
	m, ok := w.members.Load(url)
	if !ok || !m.(*member).alive() {
		return false
	}
	_, err = m.(*member).proc.Live(n)
	return err == nil
}

// all waits until every partition was answered for again.
func (w *witness) all(ctx context.Context) error {
	for n := range w.answered {
		for before := w.answered[n].Load(); w.answered[n].Load() <= before+1; {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return fmt.Errorf("nobody answers for partition %d: %w", n, ctx.Err())
			}
		}
	}
	return nil
}
