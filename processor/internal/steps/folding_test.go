package steps

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

func TestBadRecordsGoToTheDeadLettersInTheSameBatch(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	bad := s.record(events.Reads, []byte("\xff\xff"))
	s.w.Inbox.Fetch(events.Reads, []*kgo.Record{bad}, s.next[events.Reads])
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
	s := newStage(t, opening.Plan{}, nil)
	s.fold.outcome = projections.OutcomeTooManyHeld
	s.add(events.Reads, 1)
	s.step()
	last := s.sent[0][len(s.sent[0])-1]
	if last.Topic != events.TopicDeadLetters || headerOf(last, HeaderReason) != string(events.ReasonTooManyHeld) {
		t.Errorf("last record is for %s with reason %q", last.Topic, headerOf(last, HeaderReason))
	}
}

func TestWrongPartitionIsADeadLetter(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.w.count = 1 << 30 // so that channel c belongs to another partition
	s.add(events.Messages, 1)
	s.step()
	if got := headerOf(s.sent[0][0], HeaderReason); got != string(events.ReasonWrongPartition) {
		t.Errorf("reason %q, want wrong_partition", got)
	}
}

func TestNewerVersionStopsBeforeTheRecord(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	s.add(events.Reads, 2)
	v, _ := proto.Marshal(&eventsv1.ReadEvent{ChannelId: "c", UserId: "u", MinVersion: 99})
	s.w.Inbox.Fetch(events.Reads, []*kgo.Record{s.record(events.Reads, v)}, s.next[events.Reads])
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
	err := s.w.Failed()
	if !errors.Is(err, events.ErrNewerVersion) || !strings.Contains(err.Error(), "chat.reads/0 at offset 2") {
		t.Errorf("error %q does not say which record needs which version", err)
	}
	if s.w.Live.Load() != nil || s.w.Status().State != life.Failed {
		t.Error("a partition that stopped still answers")
	}
}

func TestBreakerStopsThePartition(t *testing.T) {
	s := newStage(t, opening.Plan{}, nil)
	for range 300 {
		s.w.Inbox.Fetch(events.Reads, []*kgo.Record{s.record(events.Reads, []byte{0xff})}, s.next[events.Reads])
	}
	for !s.step() {
		if s.w.flight != nil {
			s.ack()
		}
		if len(s.cuts) > 0 {
			s.write()
		}
	}
	if err := s.w.Failed(); !strings.Contains(err.Error(), "chat.reads/0 at offset 199: 200 of the last 200 records are bad") {
		t.Errorf("error %q", err)
	}
	if want := (projections.Position{0, 199}); s.fold.stored != want {
		t.Errorf("stopped at %v, want %v: before the record that was too much", s.fold.stored, want)
	}
}
