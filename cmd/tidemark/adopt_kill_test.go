package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/folded"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// killsEnv says how often TestImportAndBridgeAreKilled kills.
const killsEnv = "TIDEMARK_TEST_ADOPT_KILLS"

// child is this test binary as the command, in a process of its own.
type child struct {
	cmd    *exec.Cmd
	out    testkit.Output
	ended  chan struct{}
	failed error
}

func begin(t *testing.T, args ...string) *child {
	t.Helper()
	return beginCommand(t, exec.Command(os.Args[0], args...))
}

// beginCommand is begin with a command of its own, which runs os.Args[0].
func beginCommand(t *testing.T, cmd *exec.Cmd) *child {
	t.Helper()
	c := &child{cmd: cmd, ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), childEnv+"=1")
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	must(c.cmd.Start())
	go func() {
		c.failed = c.cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(c.kill)
	return c
}

// kill kills the process, and waits for it.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.ended
}

// within reports whether the process ends by itself within a time.
func (c *child) within(d time.Duration) bool {
	select {
	case <-c.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// adoption is a Mattermost whose database is imported and followed.
type adoption struct {
	t     *testing.T
	r     *rand.Rand
	kafka *testkit.KafkaCluster
	pg    *testkit.PostgresServer
	conn  *pgx.Conn
	m     *chats.Mattermost
	users []string
	last  int64
	whole *model.Model // of an import in one go
}

func (a *adoption) now() int64 {
	a.last = max(a.last+1, time.Now().Add(-time.Minute).UnixMilli())
	return a.last
}

func (a *adoption) connect() {
	conn, err := pgx.Connect(a.t.Context(), a.pg.DSN)
	if err != nil {
		a.t.Fatal(err)
	}
	a.conn = conn
	a.t.Cleanup(func() { _ = conn.Close(context.Background()) })
}

func (a *adoption) run(transactions ...string) {
	a.t.Helper()
	for _, sql := range transactions {
		if _, err := a.conn.Exec(a.t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			a.t.Fatalf("%v in\n%s", err, sql)
		}
	}
}

// topics makes fresh topics.
func (a *adoption) topics(prefix string) {
	a.t.Helper()
	if err := kafkaadmin.Create(a.t.Context(), kadm.NewClient(testkit.Client(a.t, a.kafka.Brokers)), events.PrefixedTopicSpecs(prefix, 2, 1)); err != nil {
		a.t.Fatal(err)
	}
}

// args is a command line of a verb.
func (a *adoption) args(verb, prefix string, more ...string) []string {
	return append([]string{verb, "mattermost", "--source", a.pg.DSN, "--brokers", a.kafka.Brokers[0], "--topic-prefix", prefix}, more...)
}

// wait is a random time.
func (a *adoption) wait(most time.Duration) time.Duration {
	return time.Duration(a.r.Int64N(int64(most)))
}

// same fails if what was killed differs from an import in one go.
func (a *adoption) same(want *model.Model, parts string) {
	a.t.Helper()
	got, posted := folded.Topics(a.t, a.kafka.Brokers, parts)
	folded.Once(a.t, posted)
	channels, roots := a.m.Names()
	folded.Same(a.t, want, got, a.users, channels, roots)
}

// An import and a bridge are killed with SIGKILL at random points, and the database and the broker
// restarted in between: nothing is lost, and nothing written twice. Half of the kills are of
// imports.
func TestImportAndBridgeAreKilled(t *testing.T) {
	kills := 6
	if message := os.Getenv(killsEnv); message != "" {
		var err error
		if kills, err = strconv.Atoi(message); err != nil {
			t.Fatalf("%s: %v", killsEnv, err)
		}
	}
	seed := rand.Uint64()
	if message := os.Getenv(killsEnv + "_SEED"); message != "" {
		var err error
		if seed, err = strconv.ParseUint(message, 10, 64); err != nil {
			t.Fatalf("%s_SEED: %v", killsEnv, err)
		}
	}
	t.Logf("%s_SEED=%d", killsEnv, seed)
	a := &adoption{
		t: t, r: rand.New(rand.NewPCG(seed, 23)), kafka: testkit.KafkaN(t, 1), pg: testkit.RestartablePostgres(t), users: []string{"ann", "bob", "cem", "dee"},
	}
	a.connect()
	a.m = &chats.Mattermost{Now: a.now}
	a.run(a.m.Begin(a.users, []string{"general", "random", "direct"})...)
	a.run(fmt.Sprintf(`INSERT INTO posts SELECT 'bulk' || n, %d + n / 1000, 0, 0, 0, (ARRAY['ann', 'bob', 'cem'])[1 + n %% 3], 'general', '', '', 'words', '', false
		FROM generate_series(1, 4000) n`, a.now()))
	a.last += 100
	for range 100 {
		a.run(a.m.Step(a.r, a.users)...)
	}
	a.topics("whole.")
	begun := time.Now()
	whole := begin(t, a.args("import", "whole.")...)
	if <-whole.ended; whole.failed != nil {
		t.Fatal(whole.out.String())
	}
	took := time.Since(begun)
	a.whole, _ = folded.Topics(t, a.kafka.Brokers, "whole.")
	prefix := a.imports(kills/2, took*3/4)
	a.bridges(prefix, kills-kills/2)
}

// imports kills imports, and returns the prefix of the topics of the last one.
func (a *adoption) imports(kills int, takes time.Duration) (prefix string) {
	a.t.Helper()
	for n := 1; ; n++ {
		prefix = fmt.Sprintf("parts%d.", n)
		a.topics(prefix)
		killed := false
		for {
			c := begin(a.t, a.args("import", prefix, "--slot", "chat")...)
			most := takes
			if kills == 0 {
				most = 2 * time.Minute
			}
			patience := a.wait(most)
			if kills == 0 {
				patience = most
			}
			if c.within(patience) {
				if out := c.out.String(); strings.Contains(out, "lack tables") {
					_, sql, _ := strings.Cut(out, ":\n")
					a.run(sql)
					continue
				}
				if c.failed != nil {
					if strings.Contains(c.out.String(), "somebody reads it now") {
						continue // the database has not noticed yet that the last one died
					}
					a.t.Fatal(c.out.String())
				}
				break
			}
			if kills == 0 {
				a.t.Fatalf("the import takes longer than %v", most)
			}
			kills, killed = kills-1, true
			c.kill()
		}
		if killed {
			a.same(a.whole, prefix)
		}
		if kills == 0 {
			a.t.Logf("%d imports", n)
			return prefix
		}
		ok(a.t, "", a.args("import", prefix, "--slot", "chat", "--drop-slot", "--yes")...)
	}
}

// bridges kills bridges, or restarts what they work with, while the story goes on.
func (a *adoption) bridges(prefix string, kills int) {
	a.t.Helper()
	args := a.args("bridge", prefix, "--slot", "chat")
	c := begin(a.t, args...)
	restarts := [2]int{}
	pace := time.NewTicker(20 * time.Millisecond) // of the story: what is tested is not how much there is
	defer pace.Stop()
	for round := 0; kills > 0; round++ {
		for until := time.Now().Add(a.wait(2 * time.Second)); time.Now().Before(until); <-pace.C {
			a.run(a.m.Step(a.r, a.users)...)
		}
		switch round % 8 {
		case 1:
			restarts[0]++
			a.pg.Restart(a.r.IntN(2) == 0)
			a.connect()
		case 3:
			restarts[1]++
			a.kafka.Kill(1)
			a.kafka.Start(1)
		default:
			kills--
			c.kill()
			c = begin(a.t, args...)
		}
		select {
		case <-c.ended:
			a.t.Fatalf("the bridge ended by itself: %s", c.out.String())
		default:
		}
	}
	a.run(a.m.Post("general", "ann", "the end")...)
	_, roots := a.m.Names()
	end := "general " + roots[len(roots)-1]
	testkit.Await(a.t, "the bridge is where the story ends", func() bool {
		select {
		case <-c.ended:
			a.t.Fatalf("the bridge ended by itself: %s", c.out.String())
		default:
		}
		return folded.Posted(a.t, a.kafka.Brokers, prefix)[end] > 0
	})
	must(c.cmd.Process.Signal(os.Interrupt)) // it writes what it has taken
	if <-c.ended; c.failed != nil {
		a.t.Fatal(c.out.String())
	}
	a.topics("end.")
	ok(a.t, "", a.args("import", "end.")...)
	want, _ := folded.Topics(a.t, a.kafka.Brokers, "end.")
	a.same(want, prefix)
	a.t.Logf("%d restarts of the database, %d of the broker", restarts[0], restarts[1])
}
