package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	"github.com/twmb/franz-go/pkg/kfake"
	"golang.org/x/sys/unix"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// fewDescriptors is the limit of open files of the node in TestANodeWithFewDescriptors.
const fewDescriptors = 256

// droppable is a listener that can drop all of its connections.
type droppable struct {
	net.Listener
	mu   sync.Mutex
	open []net.Conn
}

func (l *droppable) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open = append(l.open, c)
	}
	return c, err
}

func (l *droppable) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close() // it may be closed already
	}
	l.open = nil
}

// crowd is what strangers do to a node.
type crowd struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // ends with the test
	work    sync.WaitGroup
	sockets []*websocket.Conn
}

// knock keeps n connections to addr open or tries again, each with half a request.
func (c *crowd) knock(addr string, n int) {
	for range n {
		c.work.Go(func() {
			var d net.Dialer
			for c.ctx.Err() == nil {
				if conn, err := d.DialContext(c.ctx, "tcp", addr); err == nil {
					end := context.AfterFunc(c.ctx, func() { conn.Close() })
					_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: 127") // it may be closed already
					_, _ = io.Copy(io.Discard, conn)                                  // until the node closes it
					end()
					conn.Close()
				}
				select {
				case <-c.ctx.Done():
				case <-time.After(200 * time.Millisecond):
				}
			}
		})
	}
}

// fill opens sockets until the node has no room for another one.
func (c *crowd) fill(addr string) {
	c.t.Helper()
	for failed := 0; failed < 50; {
		ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
		conn, res, err := websocket.Dial(ctx, fmt.Sprintf("ws://%s/v1/socket?user_id=stranger%d", addr, len(c.sockets)), nil) //nolint:bodyclose // Dial sees to it
		cancel()
		switch {
		case err == nil:
			c.sockets, failed = append(c.sockets, conn), 0
			c.work.Go(func() { // answers pings
				for err := error(nil); err == nil; {
					_, _, err = conn.Read(c.ctx)
				}
			})
		case res != nil:
			c.t.Fatalf("a socket is refused by another limit: %s", res.Status)
		case errors.Is(err, context.DeadlineExceeded):
			c.t.Fatalf("with %d sockets the node neither accepts nor closes another connection", len(c.sockets))
		case len(c.sockets) > fewDescriptors:
			c.t.Fatal("the node takes more sockets than it may have files")
		default:
			failed++
		}
	}
}

// descriptors counts the open files of a process.
func (c *child) descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.cmd.Process.Pid))
	if err != nil {
		t.Fatalf("%v\n%s", err, c.out.String())
	}
	return len(list)
}

// TestANodeWithFewDescriptors: sockets and half requests from many clients take all the connections
// that a node with 256 files may have, at both of its listeners. Then Kafka and Redis drop their
// connections, and snapshots are taken: there are files left to dial and to write with, and a
// client that was there before publishes, and reads what was folded.
func TestANodeWithFewDescriptors(t *testing.T) {
	var kafka *droppable
	broker := testkit.FakeKafka(t, kfake.ListenFn(func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address) //nolint:noctx // a test's own server
		kafka = &droppable{Listener: l}
		return kafka, err
	}))
	brokers, store, bucket := strings.Join(broker.ListenAddrs(), ","), testkit.Miniredis(t), t.TempDir()
	ok(t, "", "topics", "create", "--brokers", brokers, "--partitions", "2", "--replication-factor", "1")

	c := beginCommand(t, exec.Command("/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, fewDescriptors), os.Args[0],
		"run", "--roles", "processor,cache,query,gateway", "--brokers", brokers, "--redis", "redis://"+store.Addr(), "--data-dir", t.TempDir(), "--memory", "256MiB",
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--snapshots", "file://"+filepath.ToSlash(bucket), "--snapshot-every", "1s",
		"--handshake-rate", "1000", "--handshake-burst", "10000"))
	c.out.Await(t, "node started")
	addr, operators := listenAt.FindStringSubmatch(c.out.String())[1], adminAt.FindStringSubmatch(c.out.String())[1]
	awaitReady(t, "http://"+operators)

	// A client with one connection for all of its calls, one of which is always open.
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	friend := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	defer friend.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	call := func(method, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/tidemark."+method, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := friend.Do(req)
		if err != nil {
			t.Fatalf("%s: %v\n%s", method, err, c.out.String())
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s %v", method, res.Status, text, err)
		}
		return string(text)
	}
	post := func(n int) { // and wait until ann's count includes it
		t.Helper()
		after := call("ingest.v1.IngestService/Publish", fmt.Sprintf(`{"events":[{"message":{"channelId":"general","messagePosted":{"messageId":"m%d","senderId":"bob"}}}]}`, n))
		answer := call("query.v1.QueryService/GetUnread", `{"userId":"ann","channelId":"general",`+strings.TrimPrefix(after, "{"))
		if !strings.Contains(answer, fmt.Sprintf(`"unread":%d`, n)) {
			t.Fatalf("after %d messages: %s", n, answer)
		}
	}
	call("ingest.v1.IngestService/Publish", `{"events":[{"message":{"channelId":"general","membersJoined":{"userIds":["ann","bob"]}}}]}`)
	post(1)
	watch, err := queryv1connect.NewQueryServiceClient(friend, "http://"+addr).WatchUnread(ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: "ann"}))
	if err != nil || !watch.Receive() {
		t.Fatal(err, watch.Err())
	}
	defer watch.Close()
	before := c.descriptors(t)

	strangers := &crowd{t: t, ctx: ctx}
	defer strangers.work.Wait()
	defer cancel()
	strangers.knock(addr, 100)
	strangers.knock(operators, 200)
	strangers.fill(addr)
	full := c.descriptors(t)
	t.Logf("%d sockets; of %d files the node had %d open before, %d now", len(strangers.sockets), fewDescriptors, before, full)
	if len(strangers.sockets) < 50 {
		t.Errorf("only %d sockets are let in", len(strangers.sockets))
	}
	c.out.Await(t, "a connection was refused: the limit of open connections is reached")

	flooded := time.Now()
	for n := 2; n <= 10; n++ {
		kafka.drop()
		if n%3 == 0 {
			store.Close()
			if err := store.Restart(); err != nil {
				t.Fatal(err)
			}
		}
		post(n)
		until(t, "Redis has the count", func() bool {
			return strings.Contains(store.HGet("inbox:ann", "general"), fmt.Sprintf(`"unread":%d`, n))
		})
	}
	for heard := false; !heard; {
		if !watch.Receive() {
			t.Fatalf("the stream ended: %v", watch.Err())
		}
		heard = watch.Msg().GetUpdate().GetChannel().GetUnread() == 10
	}
	until(t, "a snapshot is taken", func() bool { return changedAfter(t, bucket, flooded) })
	if out := c.out.String(); strings.Contains(out, unix.EMFILE.Error()) {
		t.Errorf("the node ran out of files:\n%s", out)
	}

	cancel() // the crowd leaves
	strangers.work.Wait()
	awaitOK(t, "http://"+addr+"/readyz")
	if err := c.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !c.within(time.Minute) || c.failed != nil {
		t.Errorf("the node does not stop in order: %v\n%s", c.failed, c.out.String())
	}
}

// changedAfter reports whether a file below dir was written after a time.
func changedAfter(t *testing.T, dir string, at time.Time) (is bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		is = is || err == nil && info.ModTime().After(at)
		return nil // a snapshot that is removed meanwhile is no error
	})
	if err != nil {
		t.Fatal(err)
	}
	return is
}
