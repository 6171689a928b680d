package bench

import (
	"errors"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/traffic"
)

// TestFlatOn runs the bench flat on a small mix: all events are folded and published over either
// number of partitions, and by one, two and four members.
func TestFlatOn(t *testing.T) {
	out, err := flatOn(t.Context(), Env{Progress: t.Output()}, flat{mix: traffic.Mixes["S"], few: 4, many: 16, warm: 2_000, events: 4_000, rounds: 1, rate: 2_000, seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != 8 {
		t.Fatalf("%+v", out)
	}
	for i, r := range out {
		t.Logf("%+v", r)
		want := "whole path, mix S, fan-out off, " + []string{"as fast as it goes", "2000 events a second"}[i/4] + ", " +
			[]string{"4 partitions, 1 members", "16 partitions, 1 members", "4 partitions, 2 members", "4 partitions, 4 members"}[i%4]
		if r.Name != want || r.CPU == 0 || r.Rate <= 0 || len(r.Goals) != min(i%4, 1) {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

// TestJoin: the members of a stage share its partitions once join has returned. On a busy machine the first
// member may be about to take its share back at that moment.
func TestJoin(t *testing.T) {
	ctx := t.Context()
	err := on(ctx, Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), partitions: 6}, traffic.Mixes["S"], func(s *stage) (err error) {
		if err := s.as(3); err != nil {
			return err
		}
		r, err := s.start(ctx, 0, false)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.stop()) }()
		leave, err := s.join(ctx)
		if err != nil {
			return err
		}
		got := -1
		for until := time.Now().Add(time.Minute); got != 2 && time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
			got = len(r.proc.Status())
		}
		if got != 2 {
			t.Errorf("the first of three members owns %d of 6 partitions, want 2", got)
		}
		return leave()
	})
	if err != nil {
		t.Fatal(err)
	}
}
