package processor

import (
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/checker"
)

// check compares everything once nothing is left to do.
func (w *simWorld) check() {
	all := checker.NewLog(w.settings, w.plan.partitions, w.broker.records(-1))
	for n := range w.plan.partitions {
		s := w.broker.owner[n].workers[n]
		part := s.fold.projection()
		w.checkStore(part, "at the end")
		f, err := checker.Digests(w.identity(n), w.shuffled(n), part.Digest())
		w.found(err)
		w.foundAll(f, "O5, O11")
	}
	f := &checker.Findings{What: "tidemark.unread against the model of the log"}
	h := checker.NewHistory(w.broker.unread, f)
	h.Stamps(f)
	h.Each(all, w.random, 60, f)
	w.foundAll(f, "O6")

	w.read(len(w.broker.unread))
	w.foundAll(w.reader.Check(all), "O7")
	var again checker.Mirror // who was not there before
	for _, r := range w.broker.unread {
		w.found(again.Apply(r.Value))
	}
	w.foundAll(again.Check(all), "O7, read from the start")
	w.foundAll(checker.DeadLetters(all, simLetters(w.broker.dead), func(r events.Reason) bool { return r == events.ReasonTooManyHeld }), "G5")
}

func (w *simWorld) foundAll(f *checker.Findings, what string) {
	if f != nil && f.Count > 0 {
		w.found(simError("%s (%s)", f, what))
	}
}

// shuffled are the records of a partition in another order, in which each topic keeps its own.
func (w *simWorld) shuffled(n int32) (out []*kgo.Record) {
	r := rand.New(rand.NewPCG(w.plan.seed, 7))
	var at [events.NumInputs]int
	logs := &w.broker.logs[n]
	for {
		var left []int
		for in := range logs {
			if at[in] < len(logs[in].records) {
				left = append(left, in)
			}
		}
		if len(left) == 0 {
			return out
		}
		in := left[r.IntN(len(left))]
		out = append(out, logs[in].records[at[in]])
		at[in]++
	}
}

// nudge makes one more change of every pair. While a partition has two owners, they may publish values of which neither
// stamp dominates the other; the next value of the one that stays dominates both (DESIGN §1).
func (w *simWorld) nudge() {
	all := checker.NewLog(w.settings, w.plan.partitions, w.broker.records(-1))
	for _, channel := range all.Channels() {
		for _, user := range all.Users {
			v, ok := all.View(user, channel)
			if !ok {
				continue
			}
			e := &eventsv1.ReadEvent{ChannelId: channel, UserId: user, Kind: &eventsv1.ReadEvent_ChannelMuted{
				ChannelMuted: &eventsv1.ChannelMuted{Muted: !v.Muted}}}
			value, err := proto.Marshal(e)
			if err != nil {
				panic(err) // of an event that was made here
			}
			w.broker.produce(&kgo.Record{Topic: events.TopicReads, Partition: events.PartitionOf([]byte(channel), w.plan.partitions),
				Key: []byte(channel), Value: value, Timestamp: w.broker.events.Now()})
		}
	}
}

func simLetters(records []*kgo.Record) (out []checker.DeadLetter) {
	for _, r := range records {
		l := checker.DeadLetter{Record: r, Source: strings.Join([]string{header(r, HeaderTopic), header(r, HeaderPartition), header(r, HeaderOffset)}, "/")}
		l.Reason, l.Detail, l.Timestamp = header(r, HeaderReason), header(r, HeaderDetail), header(r, HeaderTimestamp)
		out = append(out, l)
	}
	return out
}
