package partition

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
)

// manyCold is how many cold channels a heavy user has who is asked for.
const manyCold = 40

// coldQuery is a query of cold channels.
type coldQuery struct {
	what  string
	limit float64 // of the p99, in ms
	// ask asks once. It returns 0 if nothing that it drew is cold.
	ask func(*rand.Rand) (time.Duration, error)
}

// goals returns the goals of queries, with how long each took. when completes "GetUnread of a cold
// channel".
func goals(queries []coldQuery, took [][]time.Duration, when string) (all []gauge.Goal) {
	for i, q := range queries {
		_, p99, _ := gauge.Quantiles(took[i])
		all = append(all, gauge.AtMost("ms, "+q.what+when+", p99", p99, q.limit))
	}
	return all
}

// ask asks each of the queries in turn while more returns true for the number of turns so far.
func ask(queries []coldQuery, more func(turns int) bool) ([][]time.Duration, error) {
	all := make([][]time.Duration, len(queries))
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // of this bench alone
	for turns := 0; more(turns); turns++ {
		for i, q := range queries {
			took, err := q.ask(r)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", q.what, err)
			}
			if took > 0 {
				all[i] = append(all[i], took)
			}
		}
	}
	for i, q := range queries {
		if len(all[i]) == 0 {
			return nil, fmt.Errorf("%s: nothing that was drawn is cold", q.what)
		}
	}
	return all, nil
}

// askEvery is how often queries are asked beside traffic.
const askEvery = 5 * time.Millisecond

// beside asks while traffic folds events, from when it calls ready.
func beside(queries []coldQuery, traffic func(ready func()) error) (all [][]time.Duration, err error) {
	var over atomic.Bool
	done := make(chan error, 1)
	begun := false
	err = traffic(func() {
		begun = true
		go func() {
			var err error
			all, err = ask(queries, func(int) bool {
				time.Sleep(askEvery)
				return !over.Load()
			})
			done <- err
		}()
	})
	over.Store(true)
	if begun {
		err = errors.Join(err, <-done)
	}
	return all, err
}

// inProcess returns the queries as the partition answers them: one cold channel, the cold channels of
// a user, and those of a heavy user.
func (p *coldPart) inProcess(mix traffic.Mix) []coldQuery {
	inbox := func(user string) (time.Duration, error) {
		return p.timed(func() *projections.ColdRead { return p.d.p.ColdOf(user) }, func(part *projections.Partition) {
			_ = part.Inbox(user, func(*projections.InboxEntry) bool { return true })
		})
	}
	return []coldQuery{
		{"GetUnread of a cold channel", 3, func(r *rand.Rand) (time.Duration, error) {
			c := r.IntN(mix.Channels)
			id, user := traffic.ChannelID(c), traffic.UserID(mix.Member(c, 0))
			return p.timed(func() *projections.ColdRead { return p.d.p.ColdChannel(id) }, func(part *projections.Partition) { part.View(user, id) })
		}},
		{"the cold channels of a user", 10, func(r *rand.Rand) (time.Duration, error) {
			return inbox(traffic.UserID(mix.Member(r.IntN(mix.Channels), 0)))
		}},
		{fmt.Sprintf("%d cold channels of a user", manyCold), 10, func(r *rand.Rand) (time.Duration, error) {
			user := p.heavy(mix, r)
			if user == "" {
				return 0, nil
			}
			return inbox(user)
		}},
	}
}

// timed returns how long it takes to read cold channels and to ask, 0 if there are none.
func (p *coldPart) timed(begin func() *projections.ColdRead, ask func(*projections.Partition)) (time.Duration, error) {
	t0 := time.Now()
	p.d.p.RLock()
	read := begin()
	p.d.p.RUnlock()
	if read == nil {
		return 0, nil
	}
	defer read.Close()
	part, err := read.Load()
	if err == nil {
		ask(part)
	}
	return time.Since(t0), err
}

// heavy draws a heavy user with at least manyCold cold channels. It returns "" if it draws one with
// fewer.
func (p *coldPart) heavy(mix traffic.Mix, r *rand.Rand) string {
	n, cold := r.IntN(mix.Heavy), 0
	p.d.p.RLock()
	defer p.d.p.RUnlock()
	for _, c := range mix.HeavyChannels(n) {
		if p.d.p.IsCold(traffic.ChannelID(c)) {
			cold++
		}
	}
	if cold < manyCold {
		return ""
	}
	return traffic.UserID(mix.Users + n)
}
