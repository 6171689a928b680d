package kafkaadmin_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestLeavingLeavesNoGoroutine: a consumer leaves a group amid a poll while its broker hangs, and
// all goroutines of kgo end although the broker still hangs. A join is the exception: it ends with
// its answer.
func TestLeavingLeavesNoGoroutine(t *testing.T) {
	const patience = 200 * time.Millisecond
	for name, hangs := range map[string]func(kmsg.Request) bool{
		"nothing hangs": func(kmsg.Request) bool { return false },
		"leaving hangs": func(r kmsg.Request) bool { _, is := r.(*kmsg.LeaveGroupRequest); return is },
		"joining hangs": func(r kmsg.Request) bool { _, is := r.(*kmsg.JoinGroupRequest); return is },
		"all but leaving hangs": func(r kmsg.Request) bool {
			switch r.(type) {
			case *kmsg.HeartbeatRequest, *kmsg.OffsetCommitRequest, *kmsg.FetchRequest, *kmsg.MetadataRequest:
				return true
			}
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := testkit.FakeKafka(t, kfake.SeedTopics(1, "events"))
			answer, asked := make(chan struct{}), make(chan struct{}, 1)
			hang := func() {
				k.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
					k.KeepControl()
					if hangs(r) {
						select {
						case asked <- struct{}{}:
						default:
						}
						k.SleepControl(func() { <-answer })
					}
					return nil, nil, false
				})
			}
			joining := name == "joining hangs"
			if joining {
				hang()
			}
			client, err := kgo.NewClient(append(testkit.FastClientOpts(), kgo.SeedBrokers(k.ListenAddrs()...), kgo.ConsumeTopics("events"),
				kgo.ConsumerGroup("group"), kgo.BlockRebalanceOnPoll(), kgo.DefaultProduceTopic("events"))...)
			if err != nil {
				t.Fatal(err)
			}
			if joining {
				<-asked
			} else {
				if err := client.ProduceSync(testContext(t), kgo.StringRecord("an event")).FirstErr(); err != nil {
					t.Fatal(err)
				}
				if f := client.PollFetches(testContext(t)); f.NumRecords() != 1 { // no rebalance is allowed from here on
					t.Fatalf("%d records, %v", f.NumRecords(), f.Err())
				}
				hang()
			}
			began := time.Now()
			err = kafkaadmin.Leave(client, patience)
			if name == "nothing hangs" && err != nil || name == "leaving hangs" && err == nil {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
			if joining {
				close(answer)
			}
			testkit.Await(t, "kgo's goroutines end", func() bool { return !strings.Contains(stacks(), "/franz-go/pkg/kgo.") })
			if !joining {
				close(answer)
			}
		})
	}
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}
