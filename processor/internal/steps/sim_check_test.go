package steps

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
)

// check compares everything once nothing is left to do.
func (w *simWorld) check() {
	all := checker.NewLog(w.settings, w.plan.partitions, w.broker.records(-1))
	for n := range w.plan.partitions {
		s := w.broker.owner[n].workers[n]
		part := s.Fold.Projection()
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
	for range 20 { // records that arrive again, late and alone, change nothing (O11)
		w.again(w.random.IntN(len(w.broker.unread) + 1))
	}
	w.foundAll(w.reader.Check(all), "O7")
	var again checker.Mirror // of users who were not there in the log so far
	for _, r := range w.broker.unread {
		w.found(again.Apply(r.Value))
	}
	for _, r := range w.broker.channels {
		w.found(again.ApplyChannel(r.Value))
	}
	w.foundAll(again.Check(all), "O7, read from the start")
	w.foundAll(again.CheckChannels(all), "O7, read from the start")
	left := w.checkStanding(all, "O7, as compaction leaves it")
	until := w.now.UnixMilli() + int64(w.random.IntN(120_000)) - 60_000
	w.foundAll(left.CheckLog(all, until), "O7, as it is derived")
	w.foundAll(checker.DeadLetters(all, simLetters(w.broker.dead), func(r events.Reason) bool { return r == events.ReasonTooManyHeld }), "G5")
}

// checkStanding compares the last record of each key with the log, and returns a reader that has
// only these records.
func (w *simWorld) checkStanding(all *checker.Log, what string) *checker.Mirror {
	f := &checker.Findings{What: "the last record of each key"}
	left := checker.AfterCompaction(slices.Concat(w.broker.unread, w.broker.channels), f)
	w.foundAll(f, what)
	w.foundAll(left.Check(all), what)
	w.foundAll(left.CheckChannels(all), what)
	return left
}

// again gives the reader a single value a second time, if a newer one that it has read dominates
// it. (If neither of two stamps dominates, either value may remain, DESIGN §1; a reader in the
// order of the log has the last one.)
func (w *simWorld) again(at int) {
	if at >= w.readTo {
		return
	}
	old := w.broker.unread[at]
	for i := w.readTo - 1; i > at; i-- {
		if r := w.broker.unread[i]; string(r.Key) == string(old.Key) {
			if w.stampOf(r).Dominates(w.stampOf(old)) {
				w.found(w.reader.Apply(old.Value))
			}
			return
		}
	}
}

func (w *simWorld) stampOf(r *kgo.Record) events.Stamp {
	var d events.UnreadDelta
	w.found(events.DecodeUnreadDelta(r.Value, &d))
	return d.Stamp
}

func (w *simWorld) foundAll(f *checker.Findings, what string) {
	if f != nil && f.Count > 0 {
		w.found(simError("%s (%s)", f, what))
	}
}

// shuffled returns the records of a partition in another order, in which each topic keeps its own.
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

func simLetters(records []*kgo.Record) (out []checker.DeadLetter) {
	for _, r := range records {
		l := checker.DeadLetter{Record: r, Source: strings.Join([]string{headerOf(r, HeaderTopic), headerOf(r, HeaderPartition), headerOf(r, HeaderOffset)}, "/")}
		l.Reason, l.Detail, l.Timestamp = headerOf(r, HeaderReason), headerOf(r, HeaderDetail), headerOf(r, HeaderTimestamp)
		out = append(out, l)
	}
	return out
}
