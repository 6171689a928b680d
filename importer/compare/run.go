package compare

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// Config describes a comparison.
type Config struct {
	// Open opens the source as of now, and returns a function that releases it.
	Open func(context.Context) (importer.Counter, func(), error)
	Node queryv1connect.QueryServiceClient
	// Ends returns the tokens of the last records in the topics, which our numbers must include.
	Ends func(context.Context) ([]string, error)
	// Position returns the tokens of the last records that the nodes have folded, as far as they
	// are known.
	Position func(context.Context) ([]string, error)
	Policy   *Policy
	Users    []string      // the users to compare; none: all users
	Sample   int           // of all users; 0: no sample
	Patience time.Duration // how long the nodes may fold nothing more of what the comparison waits for
	Progress func(importer.Progress)
	Line     func(*Line) error // receives each result

	problems *importer.Problems
}

// Result is the outcome of a comparison.
type Result struct {
	Users, Pairs int
	Buckets      map[Bucket]int
	Problems     []importer.Problem // rows without a number, and mutes without a beginning
	Unknown      string             // what the source could not tell, although it explains differences; "" for nothing
}

// tries is how often differing numbers are read again.
const tries = 3

// askers is how many users are queried at once.
const askers = 16

// comparison is a run of a comparison.
type comparison struct {
	*Config
	result  *Result
	mu      sync.Mutex
	pending map[Pair]reading // they differ, and may have changed between both readings
	settled map[Pair]reading // they differ, and have not changed
	done    int64
}

// reading is the numbers of both sides.
type reading struct {
	theirs Numbers
	ours   ours
}

// Run compares. It returns the first error of the source or of the node.
func Run(ctx context.Context, conf Config) (*Result, error) {
	conf.problems, conf.Progress = &importer.Problems{}, serial(conf.Progress)
	c := &comparison{Config: &conf, result: &Result{Buckets: map[Bucket]int{}}, pending: map[Pair]reading{}, settled: map[Pair]reading{}}
	all, err := c.read(ctx, c.Users, c.Sample)
	if err != nil {
		return nil, err
	}
	c.result.Users, c.result.Problems = len(all), c.problems.List()
	if err := c.ask(ctx, all, c.first); err != nil {
		return nil, err
	}
	for range tries {
		if len(c.pending) == 0 {
			break
		}
		if err := c.recheck(ctx); err != nil {
			return nil, err
		}
	}
	for p, r := range c.pending {
		if err := c.report(p, r, Moved, "the numbers changed between all readings"); err != nil {
			return nil, err
		}
	}
	return c.result, c.judge(ctx)
}

// serial lets several goroutines tell their progress.
func serial(tell func(importer.Progress)) func(importer.Progress) {
	var mu sync.Mutex
	return func(p importer.Progress) {
		mu.Lock()
		defer mu.Unlock()
		tell(p)
	}
}

// ask reads our numbers of the users, several at once, and calls fn for each pair.
func (c *comparison) ask(ctx context.Context, all theirs, fn func(Pair, reading) error) error {
	after, err := c.Ends(ctx)
	if err != nil {
		return err
	}
	n := &node{c.Node, after, c.newWaiting(after)}
	c.done = 0
	group, ctx := guard.WithContext(ctx)
	group.SetLimit(askers)
	for user, places := range all {
		group.Go("a comparison of a user", func() error {
			var found map[place]ours
			if events.ValidID([]byte(user)) {
				var err error
				if found, err = n.read(ctx, user, valid(places)); err != nil {
					return err
				}
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.done++
			c.Progress(importer.Progress{Phase: "comparing users", Done: c.done, Total: int64(len(all))})
			for at, numbers := range places {
				if err := fn(Pair{user, at.channel, at.thread}, reading{numbers, found[at]}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// valid returns the places that can be queried.
func valid(places map[place]Numbers) map[place]Numbers {
	ok := map[place]Numbers{}
	for at, n := range places {
		if events.ValidID([]byte(at.channel)) && (at.thread == "" || events.ValidID([]byte(at.thread))) {
			ok[at] = n
		}
	}
	return ok
}

// first takes the first reading of a pair.
func (c *comparison) first(p Pair, r reading) error {
	c.result.Pairs++
	for _, id := range []string{p.User, p.Channel, cmp.Or(p.Thread, "-")} {
		if !events.ValidID([]byte(id)) {
			return c.report(p, r, NotComparable, "an id that Tidemark does not accept")
		}
	}
	if r.theirs.why != "" {
		return c.report(p, r, NotComparable, r.theirs.why)
	}
	if r.ours.known && r.theirs.Equal(r.ours.Numbers) {
		return c.report(p, r, Equal, "")
	}
	c.pending[p] = r
	return nil
}

// recheck reads differing pairs once more. A pair with the same numbers did not change in between.
func (c *comparison) recheck(ctx context.Context) error {
	users := map[string]bool{}
	for p := range c.pending {
		users[p.User] = true
	}
	all, err := c.read(ctx, slices.Sorted(maps.Keys(users)), 0)
	if err != nil {
		return err
	}
	for user, places := range all {
		maps.DeleteFunc(places, func(at place, _ Numbers) bool {
			_, waits := c.pending[Pair{user, at.channel, at.thread}]
			return !waits
		})
	}
	seen := map[Pair]bool{}
	err = c.ask(ctx, all, func(p Pair, r reading) error {
		before := c.pending[p]
		seen[p] = true
		switch {
		case r.ours.known && r.theirs.Equal(r.ours.Numbers):
			delete(c.pending, p)
			return c.report(p, r, Equal, "")
		case r.theirs.same(before.theirs) && r.ours.known == before.ours.known && r.ours.same(before.ours.Numbers):
			delete(c.pending, p)
			c.settled[p] = r
		default:
			c.pending[p] = r
		}
		return nil
	})
	if err != nil {
		return err
	}
	for p, r := range c.pending {
		if !seen[p] {
			delete(c.pending, p)
			if err := c.report(p, r, Moved, "their number is gone"); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge puts the pairs that differ into their buckets.
func (c *comparison) judge(ctx context.Context) error {
	after, err := c.Ends(ctx)
	if err != nil {
		return err
	}
	n := &node{c.Node, after, c.newWaiting(after)}
	open := map[Pair]*Evidence{}
	for i, p := range sorted(c.settled) {
		c.Progress(importer.Progress{Phase: "explaining differences", Done: int64(i), Total: int64(len(c.settled))})
		r := c.settled[p]
		e := &Evidence{Thread: p.Thread != "", Theirs: r.theirs, Ours: r.ours.Numbers, Known: r.ours.known}
		if e.Known {
			x, err := n.explain(ctx, p)
			if err != nil {
				return err
			}
			if x == nil || int64(x.Unread) != e.Ours.Unread {
				if err := c.report(p, r, Moved, "our number changed after all readings"); err != nil {
					return err
				}
				continue
			}
			e.add(x)
		}
		b, reason, ok := c.Policy.Judge(e)
		if !ok {
			open[p] = e
			continue
		}
		if err := c.report(p, r, b, reason); err != nil {
			return err
		}
	}
	return c.judgeByRows(ctx, open)
}

// judgeByRows judges the pairs that no policy explains.
func (c *comparison) judgeByRows(ctx context.Context, open map[Pair]*Evidence) error {
	if len(open) == 0 {
		return nil
	}
	source, release, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer release()
	c.Progress(importer.Progress{Phase: "counting their rows"})
	pairs := sorted(open)
	rows, err := newRecount(ctx, source, pairs, time.Now().UnixMilli())
	if err != nil {
		return err
	}
	for p, e := range open {
		e.Rows = rows.of(p)
	}
	if err := c.addVersions(ctx, source, rows, open); err != nil {
		return err
	}
	if err := c.addEarlier(ctx, source, open); err != nil {
		return err
	}
	for _, p := range pairs {
		e := open[p]
		b, reason, _ := c.Policy.Judge(e)
		if err := c.line(&Line{p, e.Theirs, e.Ours, b, reason, e.Rows.ToEnd}); err != nil {
			return err
		}
	}
	return nil
}

// add adds the result of ExplainUnread.
func (e *Evidence) add(x *queryv1.ExplainUnreadResponse) {
	e.Messages, e.More, e.Unnamed = x.MessageIds, x.More, int64(x.Unnamed)
	a := x.GetExcluded()
	e.Excluded = Excluded{
		Own: int64(a.GetOwn()), Deleted: int64(a.GetDeleted()), Silent: int64(a.GetSilent()), Reply: int64(a.GetThread()),
		ReadSingly: int64(a.GetReadSingly()), BeforeJoin: int64(a.GetBeforeJoin()), Hidden: int64(a.GetHidden()),
	}
}

func (c *comparison) report(p Pair, r reading, b Bucket, reason string) error {
	return c.line(&Line{Pair: p, Theirs: r.theirs, Ours: r.ours.Numbers, Bucket: b, Reason: reason})
}

// line counts a line in its bucket, and passes it on.
func (c *comparison) line(l *Line) error {
	c.result.Buckets[l.Bucket]++
	return c.Line(l)
}

// sorted returns pairs in the order of the output.
func sorted[T any](of map[Pair]T) []Pair {
	return slices.SortedFunc(maps.Keys(of), func(a, b Pair) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Thread, b.Thread))
	})
}
