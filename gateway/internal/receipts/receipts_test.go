package receipts

import (
	"strconv"
	"testing"

	"github.com/tidemark/tidemark/events/eventsv1"
)

func receipt(user, message string, seq uint32) *eventsv1.Receipt {
	return &eventsv1.Receipt{UserId: user, MessageId: message, Seq: seq}
}

// Each user's furthest receipt is sent, with threads and without. Views are sent message by
// message.
func TestWhatIsTold(t *testing.T) {
	far := receipt("ann", "m2", 2)
	far.WithThreads = true
	list := []*eventsv1.Receipt{receipt("bob", "m1", 1), receipt("ann", "m3", 3), receipt("ann", "m1", 1), far}
	var w Waiting
	w.Add(list, false)
	if w.Len() != 3 {
		t.Errorf("%d wait", w.Len())
	}
	const want = `{"type":"receipt.read","channel_id":"general","readers":[{"user_id":"ann","message_id":"m2","seq":2,"with_threads":true},` +
		`{"user_id":"ann","message_id":"m3","seq":3},{"user_id":"bob","message_id":"m1","seq":1}]}`
	if got := string(w.Frame("receipt.read", "general").Bytes()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if w.Len() != 0 {
		t.Errorf("%d still wait", w.Len())
	}
	w.Add(list[:3], true)
	const viewed = `{"type":"receipt.viewed","channel_id":"general","readers":[{"user_id":"ann","message_id":"m1","seq":1},` +
		`{"user_id":"ann","message_id":"m3","seq":3},{"user_id":"bob","message_id":"m1","seq":1}]}`
	if got := string(w.Frame("receipt.viewed", "general").Bytes()); got != viewed {
		t.Errorf("%s\nwant\n%s", got, viewed)
	}
}

// The number of waiting users has a limit. Later receipts of waiting users are still accepted.
func TestNoMoreThanTheLimit(t *testing.T) {
	var w Waiting
	for i := range most + 5 {
		w.Add([]*eventsv1.Receipt{receipt("user"+strconv.Itoa(i), "m1", 1)}, false)
	}
	w.Add([]*eventsv1.Receipt{receipt("user0", "m9", 9)}, false)
	if w.Len() != most || w.of["user0"].Seq != 9 {
		t.Errorf("%d wait, user0 at %d", w.Len(), w.of["user0"].Seq)
	}
}
