package processor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// panicking is a projection that panics at one record of chat.messages.
type panicking struct {
	setup.Fold
	at    int64
	count *atomic.Int32
}

func (p panicking) FoldMessage(m *events.Message, offset, timestamp int64) projections.Outcome {
	if offset == p.at {
		p.count.Add(1)
		panic("boom")
	}
	return p.Fold.FoldMessage(m, offset, timestamp)
}

// panicsAt makes the fold of a partition panic at a record.
func panicsAt(partition int32, offset int64, count *atomic.Int32) func(string, projections.Identity, projections.Options) (setup.Fold, error) {
	return func(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
		f, err := projections.Open(dir, id, o)
		if err != nil || id.Partition != partition {
			return setup.FoldOf(f), err
		}
		return panicking{setup.FoldOf(f), offset, count}, nil
	}
}

// awaitFailure waits until a partition has failed for a reason, however often the processor opens
// it again before that.
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

// TestPoisonThatPanicsIsParked: the processor tries a record at which the fold panics three times,
// over restarts. Then its partition stays closed, and its error names the record. The other
// partitions continue, and --skip-record leaves the record out.
func TestPoisonThatPanicsIsParked(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 3)
	own := events.PartitionOf([]byte("general"), 3)
	dir := t.TempDir()
	var count atomic.Int32
	config := func(retry time.Duration) Config {
		c := s.config(dir)
		setup.HooksOf(&c).OpenStore = panicsAt(own, 1, &count)
		setup.HooksOf(&c).RetryAfter = func(int) time.Duration { return retry }
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
	c.Skip = []events.RecordID{{Topic: poison.Topic, Partition: own, Offset: poison.Offset}}
	m = s.start(c).ready(3)
	if n := m.unread(last, "bob", "general"); n != 1 {
		t.Errorf("bob has %d unread without the record, want 1", n)
	}
	m.stop()
	if letters := s.deadLetters(); len(letters) != 1 || header(letters[0], steps.HeaderReason) != string(ReasonSkipped) {
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

// TestAnotherBuildTriesAgain: the panics of another build do not park the partition.
func TestAnotherBuildTriesAgain(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	dir := t.TempDir()
	var count atomic.Int32
	c := s.config(dir)
	h := setup.HooksOf(&c)
	h.OpenStore, h.RetryAfter = panicsAt(0, 0, &count), func(int) time.Duration { return time.Millisecond }
	s.join("general", "alice")
	m := s.start(c)
	m.awaitFailure(0, "parked: the fold panicked 3 times")
	m.stop()
	file := filepath.Join(dir, "partition-0.panic.json")
	text, err := os.ReadFile(file)
	noted := map[string]any{}
	if err := errors.Join(err, json.Unmarshal(text, &noted)); err != nil || noted["count"] != 3.0 || noted["panic"] != "boom" {
		t.Fatalf("noted is %v, %v", noted, err)
	}
	noted["build"] = "another"
	text, err = json.Marshal(noted)
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.start(s.config(dir)).ready(1)
}

// TestFailureThatPasses: a partition that failed because of its disk or a missing right opens again
// by itself.
func TestFailureThatPasses(t *testing.T) {
	k := testkit.FakeKafka(t)
	for name, cause := range map[string]func(s *site, c *Config) (passes func()){
		"store": func(_ *site, c *Config) func() {
			var broken atomic.Bool
			broken.Store(true)
			setup.HooksOf(c).OpenStore = func(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
				if broken.Load() {
					return nil, fmt.Errorf("store %s: input/output error", dir)
				}
				return setup.Open(dir, id, o)
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
			setup.HooksOf(&c).RetryAfter = func(int) time.Duration { return 5 * time.Millisecond }
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

// TestAMissingRightIsNamed: if a node may not write one of the outputs, the partition names the
// missing right of that topic and how to grant it, and continues once the right is there.
func TestAMissingRightIsNamed(t *testing.T) {
	k := testkit.FakeKafka(t)
	for _, output := range []string{events.TopicUnread, events.TopicChannels, events.TopicReceipts} {
		t.Run(output, func(t *testing.T) {
			s := newSite(t, k.ListenAddrs(), 2)
			topic := s.topics.Name(output)
			fault := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed, Count: -1, Topic: topic})
			c := s.config(t.TempDir())
			setup.HooksOf(&c).RetryAfter = func(int) time.Duration { return 5 * time.Millisecond }
			m := s.start(c)
			s.join("general", "alice", "bob")
			s.post("general", "m1", "alice")
			s.read("general", "bob", "m1") // makes a receipt
			m.awaitFailure(events.PartitionOf([]byte("general"), 2), "lacks the right Write on topic "+topic+": docs/security.md")
			if n := counterValue(t, m.metrics.Refused.WithLabelValues(topic)); n == 0 {
				t.Error("no metric tells")
			}
			fault.Remove()
			m.ready(2)
			m.unread(s.post("general", "m2", "alice"), "bob", "general")
		})
	}
}
