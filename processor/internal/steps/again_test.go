package steps

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// TestWhatAStoreIsAheadOfIsSaidAgain: an owner that has lost its partition and does not know it
// publishes and stores a read. Its successor has not folded the read yet when it publishes, and
// dies. The first one gets the partition back. Its store has the read, and the last record of the
// key is the successor's, without it.
func TestWhatAStoreIsAheadOfIsSaidAgain(t *testing.T) {
	w := newSimWorld(&simPlan{seed: 1, members: 2, partitions: 1, fanout: 50, batch: 10_000, lock: lockRecords})
	defer w.close()
	for _, r := range []struct{ topic, value string }{
		{events.TopicMessages, `{"channel_id":"c","members_joined":{"user_ids":["ann","bob"]}}`},
		{events.TopicMessages, `{"channel_id":"c","message_posted":{"message_id":"m1","sender_id":"ann"}}`},
		{events.TopicReads, `{"channel_id":"c","user_id":"bob","read_up_to":{"message_id":"m1"}}`},
	} {
		w.broker.produce(&kgo.Record{Topic: r.topic, Key: []byte("c"), Value: []byte(r.value), Timestamp: w.now})
	}
	own := func(member int, inputs ...events.Input) *simWorker {
		w.assign(uint32(member))
		s := w.members[member].workers[0]
		for _, in := range inputs {
			w.fetch(s, in, 0, 10)
		}
		for range 3 { // longer than it waits for a read that it was not given
			w.step(s, 20)
			w.now = w.now.Add(w.cfg.MergeWait)
		}
		w.step(s, 20)
		if len(s.flight) == 0 {
			t.Fatalf("member %d publishes nothing", member+1)
		}
		w.ack(s)
		w.step(s, 20)
		return s
	}
	first := own(0, events.Messages, events.Reads)
	if len(first.cuts) == 0 {
		t.Fatal("the first owner has nothing to store")
	}
	w.apply(first, nil)
	w.step(first, 20)
	first.lost, w.broker.owner[0] = true, nil // and it has committed nothing but that it publishes
	second := own(1, events.Messages)
	w.crash(second.m, simNoStore, 0)
	w.learn(first)
	w.step(first, 20)
	w.members[1].alive = false
	w.assign(0)
	if back := w.members[0].workers[0]; back == nil || back == first || back.Fold.Position()[events.Reads] != 1 {
		t.Fatal("the first owner is not back with its store")
	}
	w.settle()
	w.check()
	if len(w.wrong) > 0 {
		t.Error(strings.Join(w.wrong, "\n"))
	}
}
