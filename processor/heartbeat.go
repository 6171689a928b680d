package processor

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/processor/internal/outputs"
)

// keepLease repeatedly checks with the group that this process is still a member. The client's own
// heartbeats do not help, because the client does not report when it sent the heartbeat that was
// answered.
func (p *Processor) keepLease(ctx context.Context) {
	session := sessionOf(p.consumer)
	every := max(session/(2*outputs.LeaseMargin), 10*time.Millisecond)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-p.renewLease:
		case <-ctx.Done():
			return
		}
		p.heartbeat(ctx, session)
		timer.Reset(every)
	}
}

func sessionOf(client *kgo.Client) time.Duration {
	d, _ := client.OptValue(kgo.SessionTimeout).(time.Duration)
	return d
}

func (p *Processor) heartbeat(ctx context.Context, session time.Duration) {
	member, generation := p.consumer.GroupMetadata()
	if member == "" || generation < 0 || !p.as(member) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, session/3)
	defer cancel()
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.Generation = p.cfg.Group, member, generation
	if p.cfg.InstanceID != "" {
		r.InstanceID = &p.cfg.InstanceID
	}
	sent := p.lease.Clock()
	answer, err := r.RequestWith(ctx, p.consumer)
	// A member that has to join again is still a member.
	if err == nil && (answer.ErrorCode == 0 || answer.ErrorCode == kerr.RebalanceInProgress.Code) {
		p.lease.Extend(sent, session)
	}
}
