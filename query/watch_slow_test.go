package query

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/edge"
)

// openWatch starts a watch over a bare connection, by Connect's streaming form in JSON.
func openWatch(t *testing.T, n *node, user string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", n.srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	body := fmt.Appendf(nil, `{"user_id":%q}`, user)
	envelope := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	_, err = fmt.Fprintf(conn, "POST /tidemark.query.v1.QueryService/WatchUnread HTTP/1.1\r\nHost: x\r\n"+
		"Content-Type: application/connect+json\r\nContent-Length: %d\r\n\r\n%s", len(envelope), envelope)
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func (c *cluster) watching() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.watchers)
}

// eventually waits for a result of other goroutines.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// A client that does not read is dropped after a limited time. It costs no memory meanwhile,
// because changes are coalesced.
func TestAClientThatDoesNotReadIsDropped(t *testing.T) {
	c := newCluster(t, 1, 1)
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = edge.NewServer(Handler(Config{Node: c.nodes[0], sendTimeout: 200 * time.Millisecond}))
	// Small buffers on both ends limit the bytes in transit.
	srv.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if err := conn.(*net.TCPConn).SetWriteBuffer(4 << 10); err != nil {
			t.Error(err)
		}
		return ctx
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c.join("c", "ann", "bob")
	conn := openWatch(t, &node{srv: srv}, "ann")
	if err := conn.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the watch begins", func() bool { return c.watching() == 1 })
	preview := []byte(strings.Repeat("x", 140))
	i := 0
	eventually(t, "the stream ends", func() bool {
		i++
		c.message("c", events.Message{
			Kind: events.KindMessagePosted, MessageID: fmt.Appendf(nil, "m%d", i), SenderID: []byte("bob"), Preview: preview,
		})
		return c.watching() == 0
	})
}

// A client that reads a watch over HTTP/1.1 keeps it beyond the time that a request's body may
// take, and sees each message in Connect's form.
func TestWatchOverPlainHTTP(t *testing.T) {
	c := newCluster(t, 1, 1, func(cfg *Config) { cfg.HeartbeatEvery = 10 * time.Millisecond })
	c.join("c", "ann")
	conn := openWatch(t, c.nodes[0], "ann")
	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	var seen strings.Builder
	for _, want := range []string{
		"HTTP/1.1 200 OK", "Content-Type: application/connect+json",
		`{"snapshot":{"channels":[{"channel_id":"c","member":true,"unread":0,`, `{"as_of":["chat.messages/0/0"]}`,
	} {
		for !strings.Contains(seen.String(), want) {
			line, err := r.ReadString('\n')
			seen.WriteString(line)
			if err != nil {
				t.Fatalf("%v after %q", err, seen.String())
			}
		}
	}
}
