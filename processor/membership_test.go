package processor

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/processor/internal/steps"
)

// TestJoinsAgainWithoutAWord: the group has expelled a member, which learns that from its next
// JoinGroup. Its client joins again and keeps its partitions. Another member may have owned the
// partitions meanwhile. So the member does not publish, under its new membership, what it had
// folded by then. It opens the partitions again from the group's offsets.
func TestJoinsAgainWithoutAWord(t *testing.T) {
	k := testkit.FakeKafka(t)
	s := newSite(t, k.ListenAddrs(), 2)
	tr := newTraffic(s, rand.Uint64(), 20)
	tr.run(500)
	c := s.config(t.TempDir())
	setup.HooksOf(&c).RetryAfter = func(int) time.Duration { return time.Millisecond }
	c.ClientOptions = append(c.ClientOptions, kgo.HeartbeatInterval(20*time.Millisecond))
	m := s.start(c).ready(2)
	s.caughtUp(m)
	before, _ := m.consumer.GroupMetadata()
	old := map[int32]*steps.Worker{0: m.worker(0), 1: m.worker(1)}
	producer := m.publisher.Current.Load()
	if producer == nil || before == "" || !m.as(before) {
		t.Fatalf("producer %v, member %q", producer, before)
	}

	// Not even its last set leaves: the set waits for an answer until the membership is over.
	var gone, refused atomic.Bool
	k.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		switch r := r.(type) {
		case *kmsg.HeartbeatRequest:
			if r.MemberID == before && gone.Load() {
				resp := r.ResponseKind().(*kmsg.HeartbeatResponse)
				resp.ErrorCode = kerr.RebalanceInProgress.Code
				return resp, nil, true
			}
		case *kmsg.JoinGroupRequest:
			if r.MemberID == before {
				refused.Store(true)
				resp := r.ResponseKind().(*kmsg.JoinGroupResponse)
				resp.ErrorCode = kerr.UnknownMemberID.Code
				return resp, nil, true
			}
		}
		return nil, nil, false
	})
	gone.Store(true)
	until(t, "it is a member under another id", func() bool {
		now, generation := m.consumer.GroupMetadata()
		return refused.Load() && now != "" && now != before && generation >= 0 && m.as(now)
	})
	for n, w := range old {
		until(t, fmt.Sprintf("partition %d is opened anew, as others could have owned it", n), func() bool { return m.worker(n) != w })
	}
	m.ready(2)
	if now := m.publisher.Current.Load(); now == producer || producer.Outlet.Open() {
		t.Error("the producer of the membership that is over can publish")
	}
	if !m.as(func() string { now, _ := m.consumer.GroupMetadata(); return now }()) || m.as(before) {
		t.Error("it is not a member under the new id alone")
	}
	tr.run(500)
	s.caughtUp(m)
	m.stop()
	s.matchesReplay(1, c.DataDir)
}
