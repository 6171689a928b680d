package gateway

import (
	"slices"
	"testing"
)

// Who leaves a channel is told nothing of it that still waits for his device, neither in frames of its own nor in a whole
// inbox; that needs another one then, for the values that were to follow it as well.
func TestWhatWaitsForWhoLeft(t *testing.T) {
	answer := item{body: []byte("ack")}
	left := item{channel: "general", key: "ugeneral", body: []byte("count of general")}
	message := item{channel: "general", body: []byte("message of general")}
	stays := item{channel: "other", key: "uother", body: []byte("count of other")}
	news := item{channel: "other", body: []byte("message of other")}
	inbox := item{inbox: true, body: []byte("inbox")}
	for _, c := range []struct {
		name    string
		queued  []item
		want    []string
		another bool
	}{
		{"frames of its own", []item{left, answer, stays, message, news}, []string{"ack", "count of other", "message of other"}, false},
		{"an inbox", []item{answer, inbox, stays, left, message, news}, []string{"ack", "message of other"}, true},
		{"nothing", nil, nil, false},
	} {
		var q queue
		for _, it := range c.queued {
			q.add(it)
		}
		another := q.dropChannel("general")
		var got []string
		for _, it := range q.take(1 << 20) {
			got = append(got, string(it.body))
		}
		if !slices.Equal(got, c.want) || another != c.another || q.bytes != 0 {
			t.Errorf("%s: %q wait, another inbox %v, %d bytes; want %q, %v", c.name, got, another, q.bytes, c.want, c.another)
		}
	}
}
