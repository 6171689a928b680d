package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// inMemory is a network with one echo server.
func inMemory(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, server) // until the client closes it
	}()
	return client, nil
}

// bubble runs body with a line in memory, on a virtual clock.
func bubble(t *testing.T, body func(t *testing.T, l *Line, dial func() net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLine(t)
		dialer := l.Dialer(inMemory)
		body(t, l, func() net.Conn {
			c, err := dialer(t.Context(), "tcp", "server:1")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		})
	})
}

func TestDelayIsOfEachByteAndNotOfTheRate(t *testing.T) {
	bubble(t, func(t *testing.T, l *Line, dial func() net.Conn) {
		c := dial()
		l.SetDelay(3 * time.Second)
		begun := time.Now()
		for range 10 {
			send(t, c, "x")
		}
		hear(t, c, "xxxxxxxxxx")
		if took := time.Since(begun); took != 6*time.Second {
			t.Errorf("ten bytes there and back took %s, want 3 s each way", took)
		}
	})
}

func TestRate(t *testing.T) {
	bubble(t, func(t *testing.T, l *Line, dial func() net.Conn) {
		c := dial()
		l.SetRate(1000)
		begun := time.Now()
		sent := string(make([]byte, 10_000))
		send(t, c, sent)
		hear(t, c, sent)
		// Up takes 10 s. Down runs at the same time and ends one chunk of 1,024 bytes later.
		if took := time.Since(begun); took < 10*time.Second || took > 12*time.Second {
			t.Errorf("10,000 bytes at 1,000 a second took %s", took)
		}
	})
}

func TestFrozenLineLosesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, l *Line, dial func() net.Conn) {
		c := dial()
		l.Freeze(Down)
		send(t, c, "question")
		synctest.Wait()
		if up, down := l.Passed(Up), l.Passed(Down); up != 8 || down != 0 {
			t.Errorf("%d bytes passed up, %d down", up, down)
		}
		l.Freeze(Up)
		send(t, c, "?")
		synctest.Wait()
		if up := l.Passed(Up); up != 8 {
			t.Errorf("%d bytes passed up after it froze", up)
		}
		l.Mend()
		hear(t, c, "question?")
	})
}

func TestDialOverAFrozenLineWaits(t *testing.T) {
	bubble(t, func(t *testing.T, l *Line, _ func() net.Conn) {
		l.Freeze()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		if _, err := l.Dialer(inMemory)(ctx, "tcp", "server:1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial: %v", err)
		}
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("it failed after %s", took)
		}
	})
}

func TestDialOverACutLineFails(t *testing.T) {
	bubble(t, func(t *testing.T, l *Line, dial func() net.Conn) {
		c := dial()
		l.Cut()
		wantEnd(t, c, "")
		if _, err := l.Dialer(inMemory)(t.Context(), "tcp", "server:1"); !errors.Is(err, errCut) {
			t.Errorf("dial: %v", err)
		}
		l.Mend()
		c = dial()
		send(t, c, "a")
		hear(t, c, "a")
	})
}
