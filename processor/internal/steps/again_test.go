package steps

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// input is a record of an input. The workload writes the first message of each simulated log.
type input struct{ topic, value string }

// overtaken is a run in which an owner that has lost its partition without noticing publishes and
// stores all records. Its successor has folded less of each input when it publishes, and crashes.
// The first owner gets the partition back.
func overtaken(t *testing.T, all []input, less [events.NumInputs]int) (w *simWorld, back *simWorker) {
	t.Helper()
	w = newSimWorld(&simPlan{seed: 1, members: 2, partitions: 1, fanout: 50, batch: 10_000, lock: lockRecords})
	t.Cleanup(w.close)
	for _, r := range all {
		w.broker.produce(&kgo.Record{Topic: r.topic, Key: []byte("c"), Value: []byte(r.value), Timestamp: w.now})
	}
	own := func(member int, much [events.NumInputs]int) *simWorker {
		w.assign(uint32(member))
		s := w.members[member].workers[0]
		for in, n := range much {
			if n > 0 {
				w.fetch(s, events.Input(in), 0, n)
			}
		}
		for range 3 { // longer than it waits for a read that it was not given
			w.step(s, 20)
			w.now = w.now.Add(w.cfg.MergeWait)
		}
		w.step(s, 20)
		if len(s.flight) == 0 {
			t.Fatalf("member %d publishes nothing", member+1)
		}
		for len(s.flight) > 0 {
			w.ack(s)
			w.step(s, 20)
		}
		return s
	}
	first := own(0, [events.NumInputs]int{1 + len(all), len(all), len(all)})
	if len(first.cuts) > 0 {
		w.apply(first, nil)
	}
	w.step(first, 20)
	first.lost, w.broker.owner[0] = true, nil // and it has committed nothing but that it publishes
	second := own(1, less)
	w.crash(second.m, simNoStore, 0)
	w.learn(first)
	w.step(first, 20)
	w.members[1].alive = false
	w.assign(0)
	if back = w.members[0].workers[0]; back == nil || back == first {
		t.Fatal("the first owner is not back")
	}
	return w, back
}

// right lets everything finish, and checks that the last record of each key is right.
func right(t *testing.T, w *simWorld) {
	t.Helper()
	w.settle()
	w.check()
	if len(w.wrong) > 0 {
		t.Error(strings.Join(w.wrong, "\n"))
	}
}

// TestWhatAStoreIsAheadOfIsPublishedAgain: the first owner's store has a read, and the last record
// of the key is the successor's, without it.
func TestWhatAStoreIsAheadOfIsPublishedAgain(t *testing.T) {
	w, back := overtaken(t, []input{
		{events.TopicMessages, `{"channel_id":"c","members_joined":{"user_ids":["ann","bob"]}}`},
		{events.TopicMessages, `{"channel_id":"c","message_posted":{"message_id":"m1","sender_id":"ann"}}`},
		{events.TopicReads, `{"channel_id":"c","user_id":"bob","read_up_to":{"message_id":"m1"}}`},
	}, [events.NumInputs]int{2, 0, 0})
	if back.Fold.Position()[events.Reads] != 1 {
		t.Fatal("the first owner's store does not have the read")
	}
	right(t, w)
}

// TestWhatAStoreHasForgottenIsPublishedAgain: a store has nothing of a deleted channel, of a thread
// of an erased user and of a channel that is not in memory. So the first owner's store does not get
// ahead there.
func TestWhatAStoreHasForgottenIsPublishedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		all  []input
		less [events.NumInputs]int
	}{
		"a channel that was deleted": {[]input{
			{events.TopicMessages, `{"channel_id":"c","members_joined":{"user_ids":["ann","bob"]}}`},
			{events.TopicMessages, `{"channel_id":"c","message_posted":{"message_id":"m1","sender_id":"ann"}}`},
			{events.TopicMessages, `{"channel_id":"c","channel_deleted":{}}`},
		}, [events.NumInputs]int{1 + 2, 0, 0}},
		"a thread of a user who was erased": {[]input{
			{events.TopicMessages, `{"channel_id":"c","members_joined":{"user_ids":["ann","bob"]}}`},
			{events.TopicMessages, `{"channel_id":"c","message_posted":{"message_id":"m1","sender_id":"ann"}}`},
			{events.TopicMessages, `{"channel_id":"c","message_posted":{"message_id":"m2","sender_id":"ann","thread_id":"m1"}}`},
			{events.TopicReads, `{"channel_id":"c","user_id":"bob","thread_followed":{"thread_id":"m1"}}`},
			{events.TopicReads, `{"channel_id":"c","user_id":"bob","user_erased":{}}`},
		}, [events.NumInputs]int{1 + 3, 1, 0}},
		"a channel of which only reads are known": {[]input{
			{events.TopicReads, `{"channel_id":"c","user_id":"bob","flag_set":{"flagged":true}}`},
			{events.TopicReads, `{"channel_id":"c","user_id":"bob","flag_set":{"flagged":false}}`},
		}, [events.NumInputs]int{1, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			w, back := overtaken(t, c.all, c.less)
			if at := back.Fold.StoredPosition(); at != (projections.Position{}) {
				t.Errorf("the first owner has stored %v, and the group has committed nothing", at)
			}
			right(t, w)
		})
	}
}
