package rebuild_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// fetched counts the bytes that a client's fetches bring.
type fetched struct{ bytes atomic.Int64 }

// OnBrokerRead implements kgo.HookBrokerRead.
func (f *fetched) OnBrokerRead(_ kgo.BrokerMetadata, key int16, read int, _, _ time.Duration, _ error) {
	if key == int16(kmsg.Fetch) {
		f.bytes.Add(int64(read))
	}
}

// confirming is how long a verify beside a node waits in all before it reports a difference:
// confirmations times confirmAfter. mostWork is the longest that the work of this test may take
// beyond four times that of a verify without a difference; on two cores it takes 0.1 to 0.7 s in all.
const confirming, mostWork = 3 * time.Second, 1500 * time.Millisecond

// TestVerifyCostsWhatDiffers: one wrong value in Redis costs a few questions more and no second
// folding of the logs, beside a node and without one; a cache that is behind costs as many
// questions as values that it lacks. A rebuild brings all of the logs from the brokers, so their
// bytes say how often there was one. Nothing waits, but for the confirmations beside a node.
func TestVerifyCostsWhatDiffers(t *testing.T) {
	h := newHealthy(t, projections.DefaultSettings())
	var b strings.Builder
	const channels, lag = 200, 10
	for i := range channels {
		fmt.Fprintf(&b, "a%d, b%d join #c%d\nb%d posts m1 #c%d\n", i, i, i, i, i)
	}
	var p script.Parser
	parse := func(story string) []script.Record {
		records, err := p.Parse(story)
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
	stop := h.run()
	h.write(parse(b.String()))
	testkit.Await(t, "Redis has it all", func() bool {
		for i := range channels {
			at, _ := h.rdb.HGet(t.Context(), cache.ReadPointerKey(fmt.Sprint("b", i), fmt.Sprint("c", i)), "last_read_seq").Result()
			entry, _ := h.rdb.HGet(t.Context(), cache.InboxKey(fmt.Sprint("a", i)), fmt.Sprint("c", i)).Result()
			if at != "1" || !strings.HasPrefix(entry, `{"unread":1,`) {
				return false
			}
		}
		return true
	})
	testkit.Await(t, "the store has it all", func() bool { // it is written behind
		res, _ := h.verify(true)
		return res.Redis.Pairs == 2*channels
	})
	h.silent("running", true)

	type cost struct {
		commands int
		bytes    int64
	}
	var undisturbed time.Duration // of a verify without a difference
	of := func(beside bool) (*rebuild.Result, cost) {
		var least time.Duration
		for try := 1; ; try++ { // other processes may slow one call down, and not each of several
			commands, bytes := h.mini.CommandCount(), h.fetched.bytes.Load()
			res, took := h.verify(beside)
			c := cost{h.mini.CommandCount() - commands, h.fetched.bytes.Load() - bytes}
			t.Logf("%d differences, %d late: %+v in %s", res.Total, res.Redis.Late, c, took)
			if try == 1 || took < least {
				least = took
			}
			most := mostWork + 4*undisturbed
			if beside && res.Total > 0 {
				most += confirming
			}
			if least <= most {
				if undisturbed == 0 {
					undisturbed = least
				}
				return res, c
			}
			if try == 5 {
				t.Errorf("%d differences: each of %d calls took %s or more, want at most %s", res.Total, try, least, most)
				return res, c
			}
		}
	}
	wants := func(what string, got, most cost) {
		t.Helper()
		if got.commands > most.commands || got.bytes > most.bytes {
			t.Errorf("%s costs %+v, want at most %+v", what, got, most)
		}
	}
	_, clean := of(true)
	most := cost{clean.commands + clean.commands/4, clean.bytes + clean.bytes/2}
	if err := h.rdb.HSet(t.Context(), cache.ReadPointerKey("b97", "c97"), "last_read_seq", "9").Err(); err != nil {
		t.Fatal(err)
	}
	res, got := of(true)
	if res.Total != 1 {
		t.Errorf("%d differences, want the one that is planted: %v", res.Total, res.Differences)
	}
	wants("one difference", got, most)
	stop()
	res, got = of(false)
	if res.Total != 1 {
		t.Errorf("%d differences of a node that is stopped, want the one that is planted: %v", res.Total, res.Differences)
	}
	wants("one difference of a node that is stopped", got, most)

	h.config.Roles = config.Roles{config.RoleProcessor, config.RoleQuery} // nobody fills Redis
	defer h.run()()
	b.Reset()
	for i := range lag {
		fmt.Fprintf(&b, "b%d posts m2 #c%d\n", i, i)
	}
	h.write(parse(b.String()))
	testkit.Await(t, "verify says what Redis lacks, and what is wrong", func() bool {
		res, got = of(true)
		return res.Redis.Late >= lag && res.Total == 1
	})
	most.commands += 100 * res.Redis.Late
	wants("a difference beside a cache that is behind", got, most)
}

// TestVerifyWaitsInOnePlace lists the functions of the package that wait for time to pass. A sleep
// that is shorter than TestVerifyCostsWhatDiffers can measure would be a new one.
func TestVerifyWaitsInOnePlace(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var waits []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					switch of := types.ExprString(sel); of {
					case "time.Sleep", "time.After", "time.AfterFunc", "time.NewTimer", "time.Tick", "time.NewTicker":
						waits = append(waits, fmt.Sprintf("%s in %s", of, fn.Name.Name))
					}
				}
				return true
			})
		}
	}
	if want := []string{"time.After in compareRedis"}; !slices.Equal(waits, want) {
		t.Errorf("these wait: %q, want only %q", waits, want)
	}
}
