package wire

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/gateway/internal/frames"
)

// A user leaves a channel. Their device gets nothing of it that still waits, neither as frames nor
// within an inbox. A dropped inbox is sent again, with the values that were to follow it.
func TestWhatWaitsForWhoLeft(t *testing.T) {
	answer := Item{Frame: frames.Ready([]byte("ack"))}
	left := Item{Channel: "general", Key: "ugeneral", Frame: frames.Ready([]byte("count of general"))}
	message := Item{Channel: "general", Frame: frames.Ready([]byte("message of general"))}
	stays := Item{Channel: "other", Key: "uother", Frame: frames.Ready([]byte("count of other"))}
	news := Item{Channel: "other", Frame: frames.Ready([]byte("message of other"))}
	inbox := Item{Inbox: true, Frame: frames.Ready([]byte("inbox"))}
	for _, c := range []struct {
		name    string
		queued  []Item
		want    []string
		another bool
	}{
		{"frames of its own", []Item{left, answer, stays, message, news}, []string{"ack", "count of other", "message of other"}, false},
		{"an inbox", []Item{answer, inbox, stays, left, message, news}, []string{"ack", "message of other"}, true},
		{"nothing", nil, nil, false},
	} {
		var q queue
		for _, it := range c.queued {
			q.add(it)
		}
		another := q.dropChannel("general")
		var got []string
		for _, it := range q.take(1 << 20) {
			got = append(got, string(it.Bytes()))
		}
		if !slices.Equal(got, c.want) || another != c.another || q.bytes != 0 {
			t.Errorf("%s: %q wait, another inbox %v, %d bytes; want %q, %v", c.name, got, another, q.bytes, c.want, c.another)
		}
	}
}

// Taking all frames returns the added ones, however they were replaced. Taking them in parts
// returns the same.
func TestWhatIsTakenIsWhatWasAdded(t *testing.T) {
	for _, limit := range []int{1, 7, 1 << 20} {
		var q queue
		var want []string
		for round := range 3 {
			want = want[:0]
			for _, key := range []string{"", "a", "b", "", "a", "c", ""} {
				body := key + string(rune('0'+round))
				if i := slices.Index(want, body); key != "" && i >= 0 {
					want = slices.Delete(want, i, i+1)
				}
				q.add(Item{Key: key, Frame: frames.Ready([]byte(body))})
				want = append(want, body)
			}
			var got []string
			for !q.empty() {
				list := q.take(limit)
				for _, it := range list {
					got = append(got, string(it.Bytes()))
				}
				recycle(list)
			}
			if !slices.Equal(got, want) || q.bytes != 0 {
				t.Errorf("limit %d, round %d: %q, %d bytes; want %q", limit, round, got, q.bytes, want)
			}
			if list := q.take(limit); len(list) != 0 {
				t.Errorf("limit %d: an empty queue has %d frames", limit, len(list))
			}
		}
	}
}

// BenchmarkQueueTakenWhole measures a connection's frames between the feed and the write that takes
// all of them.
func BenchmarkQueueTakenWhole(b *testing.B) {
	body := make([]byte, 300)
	for name, n := range map[string]int{"1": 1, "4": 4, "64": 64} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var q queue
			for b.Loop() {
				for range n {
					q.add(Item{Frame: frames.Ready(body)})
				}
				recycle(q.take(corkBytes))
			}
		})
	}
}
