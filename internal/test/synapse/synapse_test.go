package synapse

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/folded"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// prefix is the prefix of the topics of the import.
const prefix = "v2."

// seedEnv repeats a run. roundsEnv is the number of runs, and actsEnv the number of random actions
// in each.
const (
	seedEnv   = "TIDEMARK_TEST_SYNAPSE_SEED"
	roundsEnv = "TIDEMARK_TEST_SYNAPSE_ROUNDS"
	actsEnv   = "TIDEMARK_TEST_SYNAPSE_ACTS"
)

// told is the number of the museum's stories in a run.
const told = 6

// number returns the value of an environment variable.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestSynapse plays users' actions on a real Synapse. It imports half of them and follows the rest,
// and kills the bridge, Synapse, its database and the broker in turn. In the end every number must
// follow from the actions, and every difference from the numbers that Synapse tells its users must
// have its reason. After the statements of heal, none of Synapse's numbers may be wrong.
func TestSynapse(t *testing.T) {
	seed := number(t, seedEnv, rand.Uint64())
	for round := range number(t, roundsEnv, 1) {
		t.Run(fmt.Sprint(round+1), func(t *testing.T) { playSynapse(t, seed+round) })
	}
}

func playSynapse(t *testing.T, seed uint64) {
	t.Logf("%s=%d", seedEnv, seed)
	b := newBed(t)
	r := rand.New(rand.NewPCG(seed, 29))
	w := newWorld(t, r, b.synapse.URL)
	for _, name := range []string{"ann", "bob", "cem", "dee"} {
		w.register(name)
	}
	rooms := []*room{w.create(w.names[0]), w.create(w.names[1])}
	stories := museum(t)
	r.Shuffle(len(stories), func(i, j int) { stories[i], stories[j] = stories[j], stories[i] })
	stories = stories[:told]
	play := func(n int) {
		for range n {
			if w.step(rooms, w.names); len(stories) > 0 {
				if i := r.IntN(len(stories)); w.next(stories[i]) {
					stories = slices.Delete(stories, i, i+1)
				}
			}
		}
	}
	acts := int(number(t, actsEnv, 120))
	play(acts / 2)
	b.run(0, "topics", "create", "--brokers", b.kafka.Brokers[0], "--topic-prefix", prefix, "--partitions", "2", "--replication-factor", "1")
	b.publish()
	imported := begin(t, b.args("import", "--slot", "chat")...)
	play(acts / 12) // some of it precedes the import, some does not
	if <-imported.ended; imported.failed != nil {
		t.Fatal(&imported.out)
	}
	w.followed = true
	bridge := begin(t, b.args("bridge", "--slot", "chat")...)
	kills := b.kills()
	kills["the bridge"] = func() {
		bridge.kill()
		bridge = begin(t, b.args("bridge", "--slot", "chat")...)
	}
	names := slices.Sorted(maps.Keys(kills))
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i, name := range names {
		if i == len(names)/2 {
			w.direct(w.names[0], w.names[1])
		}
		play(acts / 24)
		t.Logf("after %d actions %s is killed", len(w.acts), name)
		done, kill := make(chan struct{}), kills[name]
		go func() { // amid the users' actions
			defer close(done)
			kill()
		}()
		play(acts / 12)
		<-done
		bridge.running()
	}
	b.await(bridge, w.do(act{kind: posts, room: rooms[0], user: w.member(rooms[0])}))
	bridge.interrupt()

	told := b.told(w)
	truth := w.truth()
	b.judgeTopics(w, truth)
	node := b.node()
	b.judgeLines(w, truth, b.compared(node), told)
	b.judgeHealed(w, node)
	if t.Failed() {
		t.Log(w)
	}
}

// direct makes a direct room with a message, which the invited user finds when they join.
func (w *world) direct(by, invited string) {
	w.t.Helper()
	r := w.create(by, invited)
	w.do(act{kind: posts, room: r, user: by})
	w.do(act{kind: joins, room: r, user: invited})
	w.do(act{kind: posts, room: r, user: by})
}

// publish makes the publications that an import needs.
func (b *bed) publish() {
	b.t.Helper()
	out := b.run(-1, b.args("import", "--slot", "chat")...)
	_, sql, found := strings.Cut(out, ":\n")
	if !found {
		b.t.Fatal(out)
	}
	testkit.SQL(b.t, b.pg.DSN, sql)
}

// await waits until the bridge has written a message.
func (b *bed) await(bridge *child, id string) {
	b.t.Helper()
	begun := time.Now()
	testkit.Await(b.t, "the bridge is where the story ends", func() bool {
		bridge.running()
		for name := range folded.Posted(b.t, b.kafka.Brokers, prefix) {
			if strings.HasSuffix(name, " "+id) {
				return true
			}
		}
		return false
	})
	b.t.Logf("the bridge had caught up after %v", time.Since(begun))
}

// member returns a user who is in a room.
func (w *world) member(r *room) string {
	for _, u := range w.names {
		if r.in[u] {
			return u
		}
	}
	w.do(act{kind: joins, room: r, user: w.names[0]})
	return w.names[0]
}
