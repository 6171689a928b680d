package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echo starts an echo server, which ends with the test.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // until either end closes it
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v; want %q", got[:n], err, want)
	}
}

// wantEnd fails unless the connection ended after the last bytes, by being closed and not by a
// timeout.
func wantEnd(t *testing.T, c net.Conn, last string) {
	t.Helper()
	got, err := io.ReadAll(c)
	if string(got) != last || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the connection ended with %q, %v; want %q", got, err, last)
	}
}

// wantRefused fails unless a new connection ends at once, or cannot be opened.
func wantRefused(t *testing.T, p *Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, c, "")
}

func TestBytesPassUnchanged(t *testing.T) {
	p := New(t, echo(t))
	c := dial(t, p.Addr())
	sent := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	done := make(chan error, 1)
	go func() {
		_, err := c.Write(sent)
		done <- errors.Join(err, c.(*net.TCPConn).CloseWrite())
	}()
	got, err := io.ReadAll(c)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came back, not those %d that were sent", len(got), len(sent))
	}
	if up, down := p.Passed(Up), p.Passed(Down); up != int64(len(sent)) || down != up {
		t.Errorf("%d bytes passed up, %d down, want %d", up, down, len(sent))
	}
}

func TestBreakEndsWhatIsOpenOnly(t *testing.T) {
	p := New(t, echo(t))
	a := dial(t, p.Addr())
	send(t, a, "a")
	hear(t, a, "a")
	if n := p.Break(); n != 1 {
		t.Errorf("%d connections were broken", n)
	}
	wantEnd(t, a, "")
	b := dial(t, p.Addr())
	send(t, b, "b")
	hear(t, b, "b")
	if p.Made() != 2 || p.Open() != 1 {
		t.Errorf("%d connections were made, %d are open", p.Made(), p.Open())
	}
}

func TestCutLetsNobodyIn(t *testing.T) {
	p := New(t, echo(t))
	a := dial(t, p.Addr())
	send(t, a, "a")
	hear(t, a, "a")
	p.Cut()
	wantEnd(t, a, "")
	wantRefused(t, p)
	p.Mend()
	b := dial(t, p.Addr())
	send(t, b, "b")
	hear(t, b, "b")
}

func TestAbandonedClientsAreNotTold(t *testing.T) {
	p := New(t, echo(t))
	a := dial(t, p.Addr())
	send(t, a, "a")
	hear(t, a, "a")
	if n := p.Abandon(); n != 1 {
		t.Errorf("%d connections are half-open", n)
	}
	for range 100 {
		send(t, a, "into the void") // it does not fail
	}
	if err := a.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v; want silence", n, err)
	}
	b := dial(t, p.Addr())
	send(t, b, "b")
	hear(t, b, "b")
	p.Break()
	if err := a.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, a, "")
}

func TestCutInTheMiddleOfAnAnswer(t *testing.T) {
	p := New(t, echo(t))
	a, b := dial(t, p.Addr()), dial(t, p.Addr())
	send(t, a, "one")
	hear(t, a, "one")
	cut := p.CutAfter(Down, 5)
	send(t, b, "abc")
	hear(t, b, "abc")
	send(t, a, "defg")
	wantEnd(t, a, "de") // the fifth byte from now is the last
	<-cut
	send(t, b, "more")
	hear(t, b, "more")
}

func TestCutBeforeTheNextByte(t *testing.T) {
	p := New(t, echo(t))
	a := dial(t, p.Addr())
	cut := p.CutAfter(Up, 0)
	send(t, a, "x")
	<-cut
	wantEnd(t, a, "")
	if n := p.Passed(Up); n != 0 {
		t.Errorf("%d bytes passed", n)
	}
}

func TestMendForgetsCutsToCome(t *testing.T) {
	p := New(t, echo(t))
	a := dial(t, p.Addr())
	p.CutAfter(Up, 2)
	p.Mend()
	send(t, a, "abc")
	hear(t, a, "abc")
}

func TestServerThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, New(t, gone))
}

// TestNothingIsLeft: once Close has returned, all goroutines of a line have ended, whatever its
// connections were doing.
func TestNothingIsLeft(t *testing.T) {
	p := New(t, echo(t))
	p.Freeze()
	for range 10 {
		send(t, dial(t, p.Addr()), "stuck")
	}
	p.Mend()
	p.SetRate(1)
	for range 10 {
		send(t, dial(t, p.Addr()), "slow")
	}
	p.Close()
	if n := p.Open(); n != 0 {
		t.Errorf("%d connections are open", n)
	}
}
