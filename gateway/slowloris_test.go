package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
)

// handshake upgrades a bare connection.
func handshake(t *testing.T, s *dev.Stack) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /v1/socket?user_id=ann HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<16), nil) //nolint:bodyclose // it ends with the connection
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	return conn
}

// endsItself waits until the other side has closed.
func endsItself(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		t.Error("the connection is still there")
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// The gateway cuts off a client that sends a frame, or fragments of one, byte by byte forever, and
// a client that answers no ping.
func TestSlowloris(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{
		FrameTimeout: 200 * time.Millisecond, PingEvery: 50 * time.Millisecond, PongTimeout: 300 * time.Millisecond,
	}}})
	mask := []byte{0, 0, 0, 0}
	t.Run("begun and never ended", func(t *testing.T) {
		conn := handshake(t, s)
		if _, err := conn.Write(append(append([]byte{0x81, 0x80 | 100}, mask...), `{"type"`...)); err != nil {
			t.Error(err)
		}
		endsItself(t, conn)
	})
	t.Run("8 EiB announced", func(t *testing.T) {
		conn := handshake(t, s)
		if _, err := conn.Write(append([]byte{0x81, 0x80 | 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, append(mask, 'x')...)); err != nil {
			t.Error(err)
		}
		endsItself(t, conn)
	})
	t.Run("fragments", func(t *testing.T) {
		conn := handshake(t, s)
		go func() {
			kind := byte(0x01)
			for {
				if _, err := conn.Write(append([]byte{kind, 0x81}, append(mask, ' ')...)); err != nil {
					return
				}
				kind = 0
				time.Sleep(5 * time.Millisecond)
			}
		}()
		endsItself(t, conn)
	})
	t.Run("no pong", func(t *testing.T) { endsItself(t, handshake(t, s)) })
	t.Run("headers that never end", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /v1/socket?user_id=ann HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Drip: ")
		endsItself(t, conn)
	})
}
