package processor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// answers has the errors with which brokers answer each kind of a member's requests. Each passes by
// itself or by the member's reaction. Brokers return REQUEST_TIMED_OUT and
// NOT_ENOUGH_REPLICAS_AFTER_APPEND after they applied the request.
var answers = []struct {
	key  kmsg.Key
	errs []*kerr.Error
	// opens means that the request is made when a partition is opened, so the member is made to
	// lose all of its partitions.
	opens bool
}{
	{kmsg.Produce, []*kerr.Error{kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, kerr.NotEnoughReplicas,
		kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.KafkaStorageError, kerr.UnknownTopicOrPartition,
		kerr.NetworkException, kerr.CorruptMessage, kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID,
		kerr.InvalidProducerEpoch, kerr.TopicAuthorizationFailed, kerr.UnknownServerError}, false},
	{kmsg.Fetch, []*kerr.Error{kerr.NotLeaderForPartition, kerr.UnknownLeaderEpoch, kerr.FencedLeaderEpoch,
		kerr.ReplicaNotAvailable, kerr.OffsetNotAvailable, kerr.KafkaStorageError, kerr.UnknownServerError, kerr.CorruptMessage,
		kerr.UnknownTopicOrPartition, kerr.TopicAuthorizationFailed}, false},
	{kmsg.OffsetCommit, []*kerr.Error{kerr.RequestTimedOut, kerr.NotCoordinator, kerr.CoordinatorNotAvailable,
		kerr.CoordinatorLoadInProgress, kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID,
		kerr.GroupAuthorizationFailed}, false},
	{kmsg.Heartbeat, []*kerr.Error{kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.NotCoordinator,
		kerr.CoordinatorNotAvailable, kerr.GroupAuthorizationFailed}, false},
	{kmsg.JoinGroup, []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.CoordinatorNotAvailable,
		kerr.UnknownMemberID, kerr.GroupAuthorizationFailed}, true},
	{kmsg.SyncGroup, []*kerr.Error{kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.RebalanceInProgress,
		kerr.IllegalGeneration, kerr.UnknownMemberID}, true},
	{kmsg.OffsetFetch, []*kerr.Error{kerr.NotCoordinator, kerr.CoordinatorLoadInProgress, kerr.UnstableOffsetCommit,
		kerr.GroupAuthorizationFailed}, true},
	{kmsg.ListOffsets, []*kerr.Error{kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.OffsetNotAvailable,
		kerr.KafkaStorageError, kerr.UnknownTopicOrPartition, kerr.TopicAuthorizationFailed}, true},
	{kmsg.FindCoordinator, []*kerr.Error{kerr.CoordinatorNotAvailable, kerr.GroupAuthorizationFailed}, true},
	{kmsg.Metadata, []*kerr.Error{kerr.LeaderNotAvailable, kerr.UnknownTopicOrPartition, kerr.TopicAuthorizationFailed}, true},
}

// TestEveryErrorPasses: under traffic, the brokers answer each kind of a member's requests with
// each error that passes, several times in a row. Afterwards every invariant holds.
func TestEveryErrorPasses(t *testing.T) {
	for _, a := range answers {
		t.Run(a.key.Name(), func(t *testing.T) {
			inBubble(t, 2, 1, func(t *testing.T, b *bubble) {
				ofMembers := b.ofMembers()
				for _, answer := range a.errs {
					begun := time.Now()
					// Only requests of members count: an error for the test's own events proves
					// nothing.
					fault := b.k.Fault(kfake.Fault{Keys: []kmsg.Key{a.key}, Err: answer, Count: 3, When: ofMembers})
					var lost []*kfake.FaultHandle
					if a.opens { // the client and the lease heartbeat, and get the same error
						beat := []kmsg.Key{kmsg.Heartbeat}
						lost = append(lost, b.k.Fault(kfake.Fault{Keys: beat, Err: kerr.NotCoordinator, Count: 2}),
							b.k.Fault(kfake.Fault{Keys: beat, Err: kerr.UnknownMemberID, Count: -1}))
					}
					b.tr.write(40)
					until(t, a.key.Name()+" is answered with "+answer.Message, func() bool { return fault.Hits() > 0 })
					for _, f := range lost {
						f.Remove()
					}
					b.tr.write(20)
					fault.Remove() // the test sends requests, too
					b.caughtUpAfter(answer.Message)
					if took := time.Since(begun); took > 20*time.Second {
						t.Errorf("%s: everything is folded only %s of virtual time later", answer.Message, took)
					}
				}
				b.check(true)
			})
		})
	}
}

// ofMembers returns a function that reports whether a member sent a request, and not the test. Of
// the requests that name topics to write to, these are the ones that name an output. The function
// runs on the cluster's own goroutine.
func (b *bubble) ofMembers() func(kmsg.Request) bool {
	names, ids := b.names(), map[[16]byte]bool{}
	outputs := []string{names.Unread, names.Channels, names.Receipts, names.DeadLetters}
	for _, topic := range outputs {
		ids[b.k.TopicInfo(topic).TopicID] = true
	}
	return func(r kmsg.Request) bool {
		switch r := r.(type) {
		case *kmsg.ProduceRequest:
			return slices.ContainsFunc(r.Topics, func(t kmsg.ProduceRequestTopic) bool { return ids[t.TopicID] })
		case *kmsg.MetadataRequest:
			return slices.ContainsFunc(r.Topics, func(t kmsg.MetadataRequestTopic) bool {
				return ids[t.TopicID] || t.Topic != nil && slices.Contains(outputs, *t.Topic)
			})
		}
		return true
	}
}

// caughtUpAfter is caughtUp for partitions that may pause until they are opened again.
func (b *bubble) caughtUpAfter(what string) {
	b.t.Helper()
	ends := b.ends()
	until(b.t, "everything is folded after "+strings.TrimSpace(what), func() bool {
		done := 0
		for _, m := range b.of {
			for _, st := range m.Status() {
				if st.State == StateLive && st.Position == ends[st.Partition] {
					done++
				}
			}
		}
		return done == len(ends)
	})
}
