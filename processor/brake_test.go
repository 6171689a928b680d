package processor

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/testkit"
	"github.com/tidemark/tidemark/projections"
)

// panicking is a projection that panics at one record of chat.messages.
type panicking struct {
	fold
	at    int64
	count *atomic.Int32
}

func (p panicking) FoldMessage(m *events.Message, offset, timestamp int64) projections.Outcome {
	if offset == p.at {
		p.count.Add(1)
		panic("boom")
	}
	return p.fold.FoldMessage(m, offset, timestamp)
}

// panicsAt makes the fold of a partition panic at a record.
func panicsAt(partition int32, offset int64, count *atomic.Int32) func(string, projections.Identity, projections.Options) (fold, error) {
	return func(dir string, id projections.Identity, o projections.Options) (fold, error) {
		f, err := projections.Open(dir, id, o)
		if err != nil || id.Partition != partition {
			return projection{f}, err
		}
		return panicking{projection{f}, offset, count}, nil
	}
}

// awaitFailure waits until a partition has failed for a reason, however often it is tried again before that.
func (m *member) awaitFailure(partition int32, text string) {
	m.t.Helper()
	until(m.t, "partition fails with "+text, func() bool {
		for _, st := range m.Status() {
			if st.Partition == partition && st.State == StateFailed && strings.Contains(st.Err.Error(), text) {
				return true
			}
		}
		return false
	})
}

// TestPoisonThatPanicsIsParked: a record at which the fold panics is tried three times, over restarts; then its partition
// names it and is not opened any more, the others go on, and the record can be left out.
func TestPoisonThatPanicsIsParked(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 3)
	own := events.PartitionOf([]byte("general"), 3)
	dir := t.TempDir()
	var count atomic.Int32
	config := func(retry time.Duration) Config {
		c := s.config(dir)
		c.openStore = panicsAt(own, 1, &count)
		c.retryAfter = func(int) time.Duration { return retry }
		return c
	}
	s.join("general", "alice", "bob")
	poison := s.post("general", "m1", "alice")
	last := s.post("general", "m2", "alice")

	m := s.start(config(time.Hour))
	m.failedWith(own, 3, fmt.Sprintf("%s/%d at offset 1", poison.Topic, own), "boom", `(key "general"; 1 of 3 times`)
	until(t, "the status says that it is tried again", func() bool {
		st := m.Status()[own]
		return !st.Retry.IsZero() && strings.Contains(st.String(), "tried again at")
	})
	m.stop()
	m = s.start(config(time.Millisecond)) // the second and third time
	parked := fmt.Sprintf("%s/%d at offset 1 (key \"general\"): parked: the fold panicked 3 times", poison.Topic, own)
	m.awaitFailure(own, parked)
	m.failedWith(own, 3, parked, fmt.Sprintf("--skip-record %s/%d/1", poison.Topic, own))
	if st := m.Status()[own]; !st.Retry.IsZero() || count.Load() != 3 {
		t.Errorf("%d panics, and the status is %q", count.Load(), st)
	}
	for _, channel := range []string{"a", "b", "c", "d", "e"} {
		if events.PartitionOf([]byte(channel), 3) != own {
			m.unread(s.join(channel, "alice"), "alice", channel)
		}
	}
	m.stop()
	m = s.start(config(time.Millisecond))
	m.failedWith(own, 3, parked)
	if count.Load() != 3 {
		t.Errorf("a parked partition was folded: %d panics", count.Load())
	}
	m.stop()

	c := config(time.Millisecond)
	c.Skip = []RecordID{{poison.Topic, own, poison.Offset}}
	m = s.start(c).ready(3)
	if n := m.unread(last, "bob", "general"); n != 1 {
		t.Errorf("bob has %d unread without the record, want 1", n)
	}
	m.stop()
	if letters := s.deadLetters(); len(letters) != 1 || header(letters[0], HeaderReason) != string(ReasonSkipped) {
		t.Errorf("dead letters %v", letters)
	}
	if _, err := os.Stat(StoreDir(dir, own) + ".panic.json"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the note of the panics is still there")
	}
	for _, r := range s.rebuild(t.TempDir(), func(rc *RebuildConfig) { rc.Skip = c.Skip }) {
		if want := s.digests(s.config(""), dir); r.Err != nil || r.Digest != want[r.Partition] {
			t.Errorf("a rebuild without the record: %+v, want %x", r, want[r.Partition])
		}
	}
}

// TestAnotherBuildTriesAgain: what is noted of another build does not park.
func TestAnotherBuildTriesAgain(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	dir := t.TempDir()
	var count atomic.Int32
	c := s.config(dir)
	c.openStore, c.retryAfter = panicsAt(0, 0, &count), func(int) time.Duration { return time.Millisecond }
	s.join("general", "alice")
	m := s.start(c)
	m.awaitFailure(0, "parked: the fold panicked 3 times")
	m.stop()
	w := &worker{cfg: &m.cfg, log: m.cfg.Logger}
	b, err := w.readBrake()
	if err != nil || b == nil || b.Count != maxPanics || b.Panic != "boom" {
		t.Fatalf("noted is %#v, %v", b, err)
	}
	b.Build = "another"
	if err := w.writeBrake(b); err != nil {
		t.Fatal(err)
	}
	s.start(s.config(dir)).ready(1)
}

// TestFailureThatPasses: a partition that failed because of its disk or its rights comes back by itself.
func TestFailureThatPasses(t *testing.T) {
	k := testkit.FakeKafka(t)
	for name, cause := range map[string]func(s *site, c *Config) (passes func()){
		"store": func(_ *site, c *Config) func() {
			var broken atomic.Bool
			broken.Store(true)
			c.openStore = func(dir string, id projections.Identity, o projections.Options) (fold, error) {
				if broken.Load() {
					return nil, fmt.Errorf("store %s: input/output error", dir)
				}
				return openProjection(dir, id, o)
			}
			return func() { broken.Store(false) }
		},
		"publishing": func(s *site, _ *Config) func() {
			f := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed, Count: -1, Topic: s.names().Unread})
			return f.Remove
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, k.ListenAddrs(), 2)
			c := s.config(t.TempDir())
			c.retryAfter = func(int) time.Duration { return 5 * time.Millisecond }
			passes := cause(s, &c)
			m := s.start(c)
			last := s.join("general", "alice", "bob")
			own := events.PartitionOf([]byte("general"), 2)
			m.awaitFailure(own, "")
			passes()
			m.ready(2)
			if n := m.unread(last, "alice", "general"); n != 0 {
				t.Errorf("alice has %d unread", n)
			}
			m.unread(s.post("general", "m1", "alice"), "bob", "general")
			m.stop()
			s.matchesReplay(1, c.DataDir)
		})
	}
}

// TestAMissingRightIsNamed: where a node may not write an output, whichever it is, the partition says which right of which
// topic it lacks and what gives it, and goes on once it is there.
func TestAMissingRightIsNamed(t *testing.T) {
	k := testkit.FakeKafka(t)
	for _, output := range []string{events.TopicUnread, events.TopicChannels, events.TopicReceipts} {
		t.Run(output, func(t *testing.T) {
			s := newSite(t, k.ListenAddrs(), 2)
			topic := s.topics.Name(output)
			fault := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed, Count: -1, Topic: topic})
			c := s.config(t.TempDir())
			c.retryAfter = func(int) time.Duration { return 5 * time.Millisecond }
			m := s.start(c)
			s.join("general", "alice", "bob")
			s.post("general", "m1", "alice")
			s.read("general", "bob", "m1") // which is a receipt
			m.awaitFailure(events.PartitionOf([]byte("general"), 2), "lacks the right Write on topic "+topic+": docs/security.md")
			if n := counterValue(t, m.metrics.refused.WithLabelValues(topic)); n == 0 {
				t.Error("no metric tells")
			}
			fault.Remove()
			m.ready(2)
			m.unread(s.post("general", "m2", "alice"), "bob", "general")
		})
	}
}

// TestFailureThatDoesNotPass: where only a person can help nothing is tried again.
func TestFailureThatDoesNotPass(t *testing.T) {
	for _, err := range []error{
		&projections.MismatchError{Dir: "d", Kind: projections.MismatchCluster, Detail: "x"},
		newPanic("its projection", "boom"),
	} {
		if mayPass(openFailure(err)) {
			t.Errorf("%v is tried again", err)
		}
	}
	if mayPass(storeFailure(newPanic("its projection", "boom"))) {
		t.Error("a panic that no record is to blame for is tried again")
	}
	if mayPass(publishFailure(fmt.Errorf("t/0: %w", kerr.MessageTooLarge))) {
		t.Error("a record that is too large is tried again")
	}
	if _, err := planOpening(0, &events.InputTopics, projections.Position{9, 0, 0}, history{}); err == nil || mayPass(err) {
		t.Errorf("%v is tried again", err)
	}
}

func TestParseRecordID(t *testing.T) {
	want := RecordID{"chat.messages", 3, 1234}
	if got, err := ParseRecordID(want.String()); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "t", "t/1", "/1/2", "t/-1/2", "t/1/-2", "t/1/2/3", "t/99999999999/1", "t/a/b"} {
		if got, err := ParseRecordID(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 99: time.Minute} {
		if got := retryAfter(n); got != want {
			t.Errorf("before try %d: %s, want %s", n, got, want)
		}
	}
}
