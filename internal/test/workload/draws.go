package workload

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// clock returns the time of a producer's clock: missing, right, a little or much too early, or far
// too late, which decoders replace.
func (w *Workload) clock() *timestamppb.Timestamp {
	switch w.r.IntN(8) {
	case 0, 1, 2:
		return nil
	case 3:
		return timestamppb.New(w.Now().Add(-time.Duration(w.r.IntN(5000)) * time.Millisecond))
	case 4:
		return timestamppb.New(w.Now().Add(time.Duration(w.r.IntN(600)) * time.Second))
	}
	return timestamppb.New(w.Now())
}

// around returns a time to read up to, a little before or after now.
func (w *Workload) around() *timestamppb.Timestamp {
	return timestamppb.New(w.Now().Add(time.Duration(w.r.IntN(60)-50) * time.Second))
}

func (w *Workload) past() *timestamppb.Timestamp {
	return timestamppb.New(w.epoch.Add(time.Duration(w.r.IntN(w.made/4+1)) * w.step))
}

// stranger is a user without a room who appears in all rooms.
const stranger = "stranger"

func (w *Workload) oneIn(n int) bool { return w.r.IntN(n) == 0 }

func (w *Workload) user(m *channel) string {
	if w.oneIn(40) || len(m.people) == 0 {
		return stranger
	}
	return m.people[w.r.IntN(len(m.people))]
}

// some returns up to n people of the room; in a large one more, so that it becomes small and large
// again.
func (w *Workload) some(m *channel, n int) []string {
	n = 1 + w.r.IntN(max(n, len(m.people)*2/3))
	var out []string
	for range n {
		if len(m.people) > 0 {
			out = append(out, m.people[w.r.IntN(len(m.people))])
		} else {
			out = append(out, stranger)
		}
	}
	return out
}

func (w *Workload) mentions(m *channel) []string {
	if !w.oneIn(5) {
		return nil
	}
	return []string{w.user(m)}
}

func (w *Workload) readEpoch() uint32 {
	if !w.oneIn(4) {
		return 0
	}
	return uint32(1 + w.r.IntN(20))
}

// recent returns a recent message, now and then a future one.
func (w *Workload) recent(m *channel) int { return max(0, m.posted+2-w.r.IntN(20)) }

// message returns any message.
func (w *Workload) message(m *channel) string { return name(w.r.IntN(m.posted + 2)) }

// Now returns the time of the next event.
func (w *Workload) Now() time.Time { return w.epoch.Add(time.Duration(w.made) * w.step) }
