package steps

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

func TestWaitForOffset(t *testing.T) {
	var p progress
	p.advance(projections.Position{3, 0, 0})
	if err := p.Wait(context.Background(), events.Messages, 2); err != nil {
		t.Errorf("offset 2 is folded: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- p.Wait(context.Background(), events.Reads, 0) }()
	for p.Waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	p.advance(projections.Position{9, 0, 9})
	select {
	case err := <-done:
		t.Fatalf("let go before its record: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	p.advance(projections.Position{9, 1, 9})
	if err := <-done; err != nil {
		t.Error(err)
	}
	if p.Waiting.Load() != 0 || len(p.waiter) != 0 {
		t.Error("a waiter is left")
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	var p progress
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := p.Wait(ctx, events.Reads, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if p.Waiting.Load() != 0 || len(p.waiter) != 0 {
		t.Error("a waiter is left")
	}
}

func TestWaitEndsWithThePartition(t *testing.T) {
	var p progress
	gone := errors.New("gone")
	done := make(chan error, 1)
	go func() { done <- p.Wait(context.Background(), events.Reads, 5) }()
	for p.Waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	p.end(gone)
	if err := <-done; !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if err := p.Wait(context.Background(), events.Reads, 5); !errors.Is(err, gone) {
		t.Errorf("afterwards got %v", err)
	}
}

// TestWaitIsNeverForgotten: the position moves while others begin to wait for it.
func TestWaitIsNeverForgotten(t *testing.T) {
	var p progress
	const n = 2000
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range int64(n) {
				if err := p.Wait(context.Background(), events.Input(g%events.NumInputs), i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range int64(n) {
		p.advance(projections.Position{i + 1, i + 1, i + 1})
	}
	all.Wait()
}
