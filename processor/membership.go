package processor

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/processor/internal/failure"
)

// A member that was stopped for longer than its session is out of its group. Usually the client
// learns that from a heartbeat and calls onLost. But the heartbeat's answer may be that the group
// rebalances, as it does while it waits for this very member. Then the client learns it from its
// next JoinGroup: it joins under another id and silently keeps its partitions. Other members may
// have owned them in between, and may own them now. So each member id begins a new membership:
// nothing that was assigned under another id is published, committed or kept.

// errLapsed is the error of a partition that was assigned under an ended membership. It is opened
// again if this process still owns it.
var errLapsed = errors.New("the group declared this member dead for a while, and others may have owned the partition since")

// begun is called for each assignment before the client acts on it. With the first one of a
// membership, all partitions owned before are lost.
func (p *Processor) begun() {
	member, _ := p.consumer.GroupMetadata()
	p.mu.RLock()
	was, stale := p.member, slices.Sorted(maps.Keys(p.workers))
	p.mu.RUnlock()
	if was != "" && was != member && len(stale) > 0 {
		p.log.Warn("partitions lost: the group declared this member dead, and it rejoined with another id", "partitions", stale)
		p.disown(stale)
		for _, w := range p.owned() {
			w.Inbox.CutOff(failure.Passing(fmt.Errorf("partition %d: %w", w.Number, errLapsed)))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.member = member
}

// disown drops the waiting commits and records of lost partitions.
func (p *Processor) disown(numbers []int32) {
	p.metrics.Rebalances.WithLabelValues("lost").Add(float64(len(numbers)))
	p.committer.Forget(numbers)
	p.publisher.RenewNow()
}

// as reports whether an id is that of the current membership. Between a JoinGroup and the
// assignment that follows, the client already has an id that is not.
func (p *Processor) as(member string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return member == p.member
}

// mayCommit refuses a commit under another membership than the one under which its offsets were
// taken.
func (p *Processor) mayCommit(r *kmsg.OffsetCommitRequest) error {
	if !p.as(r.MemberID) {
		return errLapsed
	}
	return nil
}
