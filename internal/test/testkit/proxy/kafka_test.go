package proxy

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestCutProduce: the broker does not apply a request that is cut, and applies one whose answer is
// cut. The client sends both again, and its sequence numbers keep each record single.
func TestCutProduce(t *testing.T) {
	for _, half := range []Half{Request, Answer} {
		k := testkit.FakeKafka(t, kfake.SeedTopics(1, "t"))
		applied := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Count: -1, Observe: true})
		line := NewLine(t)
		cl := testkit.Client(t, k.ListenAddrs(), kgo.Dialer(line.Dialer(nil)), kgo.DefaultProduceTopic("t"))
		cut := line.CutKafka(kmsg.Produce, half, 3)
		for range 5 {
			if err := cl.ProduceSync(t.Context(), kgo.StringRecord("a record of some bytes")).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-cut:
		default:
			t.Errorf("half %d: not cut three times", half)
		}
		if at := k.PartitionInfo("t", 0).HighWatermark; at != 5 {
			t.Errorf("half %d: %d records stand, want 5", half, at)
		}
		want := 5 // requests that came in whole
		if half == Answer {
			want = 8
		}
		if n := applied.Hits(); n != want {
			t.Errorf("half %d: %d requests came in, want %d", half, n, want)
		}
	}
}

// TestFramesHoweverTheyAreRead: frames finds middles at the same bytes, whatever chunks a stream is
// read in.
func TestFramesHoweverTheyAreRead(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var up, down []byte
	var wantUp, wantDown []int
	for n := range uint32(200) {
		body := make([]byte, 1+r.IntN(300))
		f := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
		f = binary.BigEndian.AppendUint16(f, uint16(n%3))
		f = binary.BigEndian.AppendUint16(f, 9)
		f = binary.BigEndian.AppendUint32(f, n)
		f = append(f, body...)
		if n%3 == 1 {
			wantUp = append(wantUp, len(up)+max(len(f)/2, 12))
		}
		up = append(up, f...)

		answer := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
		answer = binary.BigEndian.AppendUint32(answer, n)
		answer = append(answer, body...)
		if n%3 == 1 {
			wantDown = append(wantDown, len(down)+max(len(answer)/2, 8))
		}
		down = append(down, answer...)
	}
	var f frames
	got := [2][]int{}
	for d, stream := range [][]byte{up, down} {
		for at := 0; at < len(stream); {
			n := min(1+r.IntN(400), len(stream)-at)
			f.follow(Direction(d), stream[at:at+n])
			for _, m := range f.seen {
				if m.key == 1 {
					got[d] = append(got[d], at+m.middle)
				}
			}
			at += n
		}
	}
	for d, want := range [][]int{wantUp, wantDown} {
		if len(got[d]) != len(want) {
			t.Fatalf("%v: %d middles, want %d", Direction(d), len(got[d]), len(want))
		}
		for i := range want {
			if got[d][i] != want[i] {
				t.Errorf("%v: middle %d at %d, want %d", Direction(d), i, got[d][i], want[i])
			}
		}
	}
}
