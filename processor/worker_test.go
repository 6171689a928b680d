package processor

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/projections"
)

func TestOneEventIsPublishedAtOnce(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.add(events.Messages, 1)
	s.step()
	if len(s.sent) != 1 || len(s.sent[0]) != 1 {
		t.Fatalf("published %d sets, want one record at once", len(s.sent))
	}
	if len(s.acked) != 0 {
		t.Fatal("something may be committed before it was acknowledged")
	}
	s.ack()
	s.step()
	if want := []projections.Position{{1}}; !reflect.DeepEqual(s.acked, want) {
		t.Errorf("acknowledged up to %v, want %v", s.acked, want)
	}
}

func TestWhileOneSetIsInFlightTheNextFolds(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.add(events.Reads, 1)
	s.step()
	s.add(events.Reads, 500)
	s.step()
	if n := len(s.fold.folded); n != 501 {
		t.Errorf("%d events are folded while a set is in flight, want all 501", n)
	}
	if len(s.sent) != 1 {
		t.Fatalf("%d sets are in flight, want one at a time", len(s.sent))
	}
	s.ack()
	s.pass(fanoutRest)
	s.step()
	if len(s.sent) != 2 || len(s.sent[1]) != 500 {
		t.Fatalf("after the acknowledgement %d sets were published, want what changed meanwhile in one", len(s.sent))
	}
}

func TestFoldingStopsWhenFarAhead(t *testing.T) {
	s := newStage(t, opening{}, func(c *Config) { c.BatchRecords = 256 })
	s.add(events.Reads, 5000)
	s.step()
	if n := len(s.fold.folded); n < 4*256 || n >= 4*256+2*lockRecords {
		t.Errorf("%d events are folded while the first set waits for its acknowledgement, want a little more than 4 batches", n)
	}
}

// TestFoldingStopsWhenManyUsersAreToBeTold: a few records may be about as many users as fill the memory.
func TestFoldingStopsWhenManyUsersAreToBeTold(t *testing.T) {
	s := newStage(t, opening{}, func(c *Config) { c.BatchTime, c.FanoutDelay = time.Hour, time.Hour })
	s.fold.users = maxUndrained / 1000
	s.add(events.Reads, 5000)
	s.step()
	if n := len(s.fold.folded); n < 2*1000 || n >= 2*(1000+2*lockRecords) || len(s.sent) != 1 {
		t.Errorf("%d records of %d users each are folded, %d sets are published; want two times about 1,000, one of them published", n,
			s.fold.users, len(s.sent))
	}
	for len(s.fold.folded) < 5000 && len(s.sent) > 0 {
		s.sent = nil
		s.ack()
		s.step()
	}
	if n := len(s.fold.folded); n != 5000 {
		t.Errorf("%d records are folded when nothing is in the way, want 5000", n)
	}
}

// TestStoreIsNeverAheadOfTheAcknowledgements: a cut is applied after the set that it was taken with.
func TestStoreIsNeverAheadOfTheAcknowledgements(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.add(events.Reads, 3)
	s.pass(2 * time.Second) // a cut is due
	s.step()
	s.add(events.Reads, 4)
	s.step()
	if s.fold.cuts != 1 || len(s.cuts) != 0 {
		t.Fatalf("%d cuts taken and %d to be written before any acknowledgement, want 1 and 0", s.fold.cuts, len(s.cuts))
	}
	s.ack()
	s.step()
	s.write()
	if want := (projections.Position{0, 3}); s.fold.stored != want {
		t.Errorf("stored is %v, want %v: what was folded after the cut is not in it", s.fold.stored, want)
	}
	s.pass(2 * time.Second)
	s.step()
	if s.fold.cuts != 1 {
		t.Error("a second cut was taken while the set in flight may still fail")
	}
}

func TestIdlePartitionIsStoredToo(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.add(events.Reads, 1)
	s.step()
	s.ack()
	s.step()
	if sleep, _ := s.w.safeStep(); sleep > s.w.cfg.CutEvery {
		t.Errorf("sleeps for %v although something is dirty", sleep)
	}
	s.pass(time.Second)
	s.step()
	s.write()
	s.step()
	if s.fold.stored != s.fold.position {
		t.Errorf("stored %v, folded %v", s.fold.stored, s.fold.position)
	}
	s.pass(time.Hour)
	s.step()
	if s.fold.cuts != 1 {
		t.Errorf("%d cuts without a change", s.fold.cuts-1)
	}
}

func TestFanoutIsJoinedUnderLoad(t *testing.T) {
	s := newStage(t, opening{}, func(c *Config) { c.BatchRecords = 256 })
	s.add(events.Messages, 256*20)
	s.pass(10 * time.Millisecond)
	for range 40 {
		s.w.safeStep()
		if s.w.flight != nil {
			s.ack()
		}
	}
	partial, full := 0, 0
	for _, f := range s.fold.drains {
		if f {
			full++
		} else {
			partial++
		}
	}
	if partial == 0 || full == 0 {
		t.Fatalf("%d drains without fan-out and %d with: under load the fan-out waits, at its end it goes out", partial, full)
	}
	last := s.acked[len(s.acked)-1]
	if want := (projections.Position{256 * 20}); last != want || len(s.acked) != full {
		t.Errorf("committed %v, want only what was drained in full, up to %v", s.acked, want)
	}
}

// While there is a backlog the records of channels do not wait for the fan-out: they go out again after a few times as
// long as it took to publish them last, and not before.
func TestChannelsDoNotWaitForTheFanoutUnderLoad(t *testing.T) {
	s := newStage(t, opening{}, func(c *Config) { c.BatchRecords, c.CutEvery = 256, time.Hour })
	s.add(events.Messages, 256*20)
	drained := func() { // one set without the fan-out, acknowledged 10 ms later
		t.Helper()
		n := len(s.fold.drains)
		for range 6 {
			if s.w.safeStep(); len(s.fold.drains) > n {
				break
			}
		}
		if len(s.fold.drains) != n+1 || s.fold.drains[n] {
			t.Fatalf("drains %v, want one more, without the fan-out", s.fold.drains)
		}
		s.pass(10 * time.Millisecond)
		s.ack()
	}
	drained()
	if s.fold.recordDrains != 1 {
		t.Fatalf("channels' records went out %d times with the first set", s.fold.recordDrains)
	}
	for s.fold.recordDrains == 1 && len(s.fold.drains) < 10 {
		drained()
	}
	if n := len(s.fold.drains); s.fold.recordDrains != 2 || n < 4 {
		t.Errorf("channels' records went out %d times in %d sets of 10 ms each, want twice, %d times that apart", s.fold.recordDrains, n, recordsShare)
	}
}

// TestFanoutRestsWhileChannelsAreBusy: what comes soon after a fan-out goes out at once as far as channels' records have
// it; the deltas follow when the last ones' time is over, by themselves, and a stop does not wait for it.
func TestFanoutRestsWhileChannelsAreBusy(t *testing.T) {
	s := newStage(t, opening{}, func(c *Config) { c.CutEvery = time.Hour })
	s.add(events.Messages, 100)
	s.step()
	s.ack()
	s.step()
	if s.w.lastFanout != 100 {
		t.Fatalf("%d deltas were published, want 100", s.w.lastFanout)
	}
	s.pass(99 * fanoutRest)
	s.add(events.Messages, 1)
	n, records := len(s.fold.drains), s.fold.recordDrains
	s.step()
	if got := s.fold.drains[n:]; len(got) != 1 || got[0] || s.fold.recordDrains != records+1 {
		t.Fatalf("drains %v and %d of records, want one of channels' records alone", got, s.fold.recordDrains-records)
	}
	s.ack()
	if sleep, _ := s.w.safeStep(); sleep != fanoutRest || len(s.fold.drains) != n+1 {
		t.Fatalf("it sleeps %s and has drained %v, want %s and nothing", sleep, s.fold.drains[n+1:], fanoutRest)
	}
	s.pass(fanoutRest)
	s.step()
	if got := s.fold.drains[n+1:]; len(got) != 1 || !got[0] {
		t.Fatalf("drains %v when its time is over, want everything", got)
	}
	s.ack()
	s.add(events.Messages, 1)
	s.w.inbox.stop(stopClean)
	n = len(s.fold.drains)
	s.step()
	if got := s.fold.drains[n:]; len(got) != 1 || !got[0] {
		t.Errorf("drains %v of a partition that stops, want everything at once", got)
	}
}

// TestNobodySpinsBehindACut: while the store takes a cut, and what is dirty again has to wait for it, the goroutine sleeps
// although there is a backlog and a fan-out is held.
func TestNobodySpinsBehindACut(t *testing.T) {
	s := newStage(t, opening{}, func(c *Config) { c.CutBytes, c.CutEvery, c.FanoutDelay = 50, time.Hour, time.Hour })
	s.add(events.Messages, 5000)
	for range 20 {
		s.pass(time.Second)
		_, _ = s.w.safeStep()
		s.ack()
	}
	sleep, _ := s.w.safeStep()
	if !s.w.cutting || s.w.mayFold() || !s.w.held() || !s.w.merge.any() || s.w.flight != nil {
		t.Fatalf("cutting %v, may fold %v, held %v, backlog %v: not the case that is meant", s.w.cutting, s.w.mayFold(), s.w.held(), s.w.merge.any())
	}
	if sleep == 0 {
		t.Error("it does not sleep")
	}
}

func TestFanoutWaitsNoLongerThanItsDelay(t *testing.T) {
	s := newStage(t, opening{}, func(c *Config) { c.BatchRecords, c.CutEvery = 256, time.Hour })
	s.add(events.Messages, 256*20)
	for range 6 {
		s.w.safeStep()
		s.ack()
	}
	if len(s.fold.drains) == 0 || s.fold.drains[len(s.fold.drains)-1] {
		t.Fatalf("drains %v, want one without fan-out under load", s.fold.drains)
	}
	s.pass(s.w.cfg.FanoutDelay)
	for range 3 {
		s.w.safeStep()
		s.ack()
	}
	found := false
	for _, full := range s.fold.drains {
		found = found || full
	}
	if !found {
		t.Errorf("drains %v, want the fan-out after its delay although there is more", s.fold.drains)
	}
}

func TestBadRecordsGoToTheDeadLettersInTheSameBatch(t *testing.T) {
	s := newStage(t, opening{}, nil)
	bad := s.record(events.Reads, []byte("\xff\xff"))
	s.w.inbox.fetch(events.Reads, []*kgo.Record{bad}, s.next[events.Reads])
	s.step()
	if len(s.sent) != 1 || len(s.sent[0]) != 1 || s.sent[0][0].Topic != events.TopicDeadLetters {
		t.Fatalf("published %v, want one dead letter", s.sent)
	}
	if want := []string{"1:1"}; !reflect.DeepEqual(s.fold.skipped, want) {
		t.Errorf("skipped %v, want %v", s.fold.skipped, want)
	}
	s.ack()
	s.step()
	if want := []projections.Position{{0, 1}}; !reflect.DeepEqual(s.acked, want) {
		t.Errorf("committed %v, want %v", s.acked, want)
	}
}

func TestTooManyHeldIsADeadLetter(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.fold.outcome = projections.OutcomeTooManyHeld
	s.add(events.Reads, 1)
	s.step()
	last := s.sent[0][len(s.sent[0])-1]
	if last.Topic != events.TopicDeadLetters || header(last, HeaderReason) != string(events.ReasonTooManyHeld) {
		t.Errorf("last record is for %s with reason %q", last.Topic, header(last, HeaderReason))
	}
}

func TestWrongPartitionIsADeadLetter(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.w.count = 1 << 30 // so that channel c belongs elsewhere
	s.add(events.Messages, 1)
	s.step()
	if got := header(s.sent[0][0], HeaderReason); got != string(events.ReasonWrongPartition) {
		t.Errorf("reason %q, want wrong_partition", got)
	}
}

func TestNewerVersionStopsBeforeTheRecord(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.add(events.Reads, 2)
	v, _ := proto.Marshal(&eventsv1.ReadEvent{ChannelId: "c", UserId: "u", MinVersion: 99})
	s.w.inbox.fetch(events.Reads, []*kgo.Record{s.record(events.Reads, v)}, s.next[events.Reads])
	s.add(events.Reads, 2)
	s.step()
	s.ack()
	s.step()
	s.write()
	if !s.step() {
		t.Fatal("the partition goes on")
	}
	if want := (projections.Position{0, 2}); s.fold.stored != want || s.acked[len(s.acked)-1] != want {
		t.Errorf("stored %v, committed %v, want %v: what came before the record is kept", s.fold.stored, s.acked, want)
	}
	err := s.w.failed()
	if !errors.Is(err, events.ErrNewerVersion) || !strings.Contains(err.Error(), "chat.reads/0 at offset 2") {
		t.Errorf("error %q does not say which record needs which version", err)
	}
	if s.w.live.Load() != nil || s.w.status().State != StateFailed {
		t.Error("a partition that stopped still answers")
	}
}

func TestPanicParksThePartition(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.fold.panicAt = 3
	s.add(events.Messages, 10)
	if !s.step() {
		t.Fatal("the partition goes on")
	}
	if err := s.w.failed(); !strings.Contains(err.Error(), "chat.messages/0 at offset 3") || !strings.Contains(err.Error(), "boom") {
		t.Errorf("error %.120q does not name the record and the panic", err)
	}
	if len(s.sent) != 0 || s.fold.cuts != 0 || len(s.acked) != 0 {
		t.Error("something of a broken fold was published, stored or committed")
	}
	if !s.fold.TryLock() {
		t.Error("the lock is still held")
	}
}

func TestBreakerStopsThePartition(t *testing.T) {
	s := newStage(t, opening{}, nil)
	for range 300 {
		s.w.inbox.fetch(events.Reads, []*kgo.Record{s.record(events.Reads, []byte{0xff})}, s.next[events.Reads])
	}
	for !s.step() {
		if s.w.flight != nil {
			s.ack()
		}
		if len(s.cuts) > 0 {
			s.write()
		}
	}
	if err := s.w.failed(); !strings.Contains(err.Error(), "chat.reads/0 at offset 199: 200 of the last 200 records are bad") {
		t.Errorf("error %q", err)
	}
	if want := (projections.Position{0, 199}); s.fold.stored != want {
		t.Errorf("stopped at %v, want %v: before the record that was too much", s.fold.stored, want)
	}
}

// TestSilentFoldPublishesNothing: up to what the group has committed everything was published before; from there on all
// is, and nothing of what comes after is drained in silence.
func TestSilentFoldPublishesNothing(t *testing.T) {
	s := newStage(t, opening{from: projections.Position{2, 0, 0}, until: projections.Position{10, 5, 0}, published: true}, nil)
	if s.w.State() != StateOpening {
		t.Fatal("it is live before it has caught up")
	}
	s.add(events.Messages, 20)
	s.step()
	if len(s.fold.folded) != 0 {
		t.Fatal("the reads, which are behind, are not waited for")
	}
	s.pass(s.w.cfg.MergeWait)
	s.step()
	if s.fold.position[events.Messages] != 10 {
		t.Fatalf("messages are folded up to %d, want 10 until the reads have come as far", s.fold.position[events.Messages])
	}
	if len(s.sent)+len(s.acked) != 0 || s.w.State() != StateOpening {
		t.Fatal("something was published or committed before it caught up")
	}
	if len(s.cuts) != 1 {
		t.Fatal("a rebuild is not stored as it goes")
	}
	s.write()
	s.add(events.Reads, 6)
	s.step()
	if s.w.State() != StateLive || s.w.live.Load() == nil {
		t.Fatal("it has caught up and is not live")
	}
	if len(s.sent) != 1 || len(s.sent[0]) != 13 {
		t.Fatalf("published %d sets, want the 12 messages and the read beyond what was committed in one", len(s.sent))
	}
}

// TestOpeningEndsOverAGap: what lies before the goal is gone from the log, the next record is beyond it.
func TestOpeningEndsOverAGap(t *testing.T) {
	s := newStage(t, opening{until: projections.Position{10, 0, 0}, published: true}, nil)
	s.add(events.Messages, 4)
	s.step()
	s.next[events.Messages] = 12
	s.add(events.Messages, 1)
	s.step()
	if s.w.State() != StateLive {
		t.Errorf("the position is %v and it is not live", s.fold.position)
	}
}

func TestCleanStopFinishesWhatIsFoldedAndNoMore(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.add(events.Reads, 1)
	s.step() // in flight
	s.add(events.Reads, 600)
	s.w.receive(s.now)
	s.w.foldSome(s.now)
	s.w.inbox.stop(stopClean)
	if s.step() {
		t.Fatal("ended with a set in flight")
	}
	folded := len(s.fold.folded)
	s.ack()
	s.step()
	s.ack()
	s.step()
	s.write()
	if !s.step() {
		t.Fatal("everything is done and it does not end")
	}
	if len(s.fold.folded) != folded || folded >= 601 {
		t.Errorf("folded %d events, %d of them after it was told to stop", len(s.fold.folded), len(s.fold.folded)-folded)
	}
	if s.fold.stored != s.fold.position || s.acked[len(s.acked)-1] != s.fold.position {
		t.Errorf("folded %v, stored %v, committed %v", s.fold.position, s.fold.stored, s.acked)
	}
}

func TestCleanStopWhileOpening(t *testing.T) {
	s := newStage(t, opening{until: projections.Position{10, 0, 0}, published: true}, nil)
	s.add(events.Messages, 4)
	s.step()
	s.w.inbox.stop(stopClean)
	s.step()
	s.write()
	if !s.step() || s.fold.stored[events.Messages] != 4 {
		t.Errorf("stored %v, want what was rebuilt so far", s.fold.stored)
	}
	if len(s.sent)+len(s.acked) != 0 {
		t.Error("a partition that opens published or committed something")
	}
}

func TestAbortDropsWhatIsNotAcknowledged(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.add(events.Reads, 5)
	s.pass(2 * time.Second)
	s.step()
	s.w.inbox.stop(stopAbort)
	if !s.step() {
		t.Fatal("an abort waits for acknowledgements")
	}
	s.ack() // comes too late
	if (s.fold.stored != projections.Position{}) || len(s.acked) != 0 {
		t.Errorf("stored %v, committed %v", s.fold.stored, s.acked)
	}
}

func TestAbortWaitsForTheCutThatIsBeingWritten(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.add(events.Reads, 5)
	s.pass(2 * time.Second)
	s.step()
	s.ack()
	s.step()
	s.w.inbox.stop(stopAbort)
	if s.step() {
		t.Fatal("the store would be closed under the cut")
	}
	s.write()
	if !s.step() {
		t.Fatal("it does not end")
	}
}

func TestFailedPublishAborts(t *testing.T) {
	s := newStage(t, opening{}, nil)
	s.add(events.Reads, 5)
	s.step()
	s.w.inbox.publishDone(errors.New("no right to write"))
	if !s.step() || !strings.Contains(s.w.failed().Error(), "no right to write") {
		t.Errorf("failed with %v", s.w.failed())
	}
}

// TestIncomparablePositionsArePublished: two owners at the same time have left a store and a commit of which neither is
// before the other. What lies between is published, and until it is folded the partition does not answer (G9, G10).
func TestIncomparablePositionsArePublished(t *testing.T) {
	s := newStage(t, opening{from: projections.Position{5, 0, 0}, until: projections.Position{5, 3, 0}}, nil)
	s.add(events.Reads, 2)
	s.step()
	if s.w.State() != StateOpening {
		t.Fatalf("%v at %v, before what the group has committed", s.w.State(), s.w.fold.Position())
	}
	s.ack()
	s.add(events.Reads, 1)
	s.pass(2 * fanoutRest)
	s.step()
	if s.w.State() != StateLive {
		t.Errorf("%v at %v", s.w.State(), s.w.fold.Position())
	}
	if len(s.sent) != 2 || len(s.sent[0]) != 2 || len(s.sent[1]) != 1 {
		t.Errorf("published %d sets", len(s.sent))
	}
}
