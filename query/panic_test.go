package query

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/query/queryv1"
)

// A bug in the data that a call reads ends only that call, on whichever node of the cluster and in
// whichever goroutine it occurs: the lock is released, other calls are answered, and the fold
// continues.
func TestPanicEndsTheCall(t *testing.T) {
	const secret = "the text of a message"
	for _, nodes := range []int{1, 3} {
		var broken atomic.Bool
		var log lockedBuffer
		c := newCluster(t, 6, nodes, func(cfg *Config) {
			cfg.Logger = slog.New(slog.NewJSONHandler(&log, nil))
			cfg.planted = func(int32) {
				if broken.Load() {
					panic(secret)
				}
			}
		})
		general(c)
		c.join("other", "ann", "bob")
		q := c.nodes[0].query
		calls := map[string]func(context.Context) error{
			"GetUnread": func(ctx context.Context) error {
				_, err := q.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: "general"}))
				return err
			},
			"GetInbox": func(ctx context.Context) error {
				_, err := q.GetInbox(ctx, connect.NewRequest(&queryv1.GetInboxRequest{UserId: "ann"}))
				return err
			},
			"GetThreads": func(ctx context.Context) error {
				_, err := q.GetThreads(ctx, connect.NewRequest(&queryv1.GetThreadsRequest{UserId: "ann"}))
				return err
			},
			"ExplainUnread": func(ctx context.Context) error {
				_, err := q.ExplainUnread(ctx, connect.NewRequest(&queryv1.ExplainUnreadRequest{UserId: "ann", ChannelId: "general"}))
				return err
			},
			"GetReceipts": func(ctx context.Context) error {
				_, err := q.GetReceipts(ctx, connect.NewRequest(&queryv1.GetReceiptsRequest{ChannelId: "general", MessageId: "m2"}))
				return err
			},
			"GetChannel": func(ctx context.Context) error {
				_, err := q.GetChannel(ctx, connect.NewRequest(&queryv1.GetChannelRequest{ChannelId: "general"}))
				return err
			},
			"GetReaders": func(ctx context.Context) error {
				_, err := q.GetReaders(ctx, connect.NewRequest(&queryv1.GetReadersRequest{ChannelId: "general"}))
				return err
			},
			"ListUserChannels": func(ctx context.Context) error {
				_, err := q.ListUserChannels(ctx, connect.NewRequest(&queryv1.ListUserChannelsRequest{OfUserId: "ann"}))
				return err
			},
			"WatchUnread": func(ctx context.Context) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				stream, err := q.WatchUnread(ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: "ann"}))
				if err != nil {
					return err
				}
				defer stream.Close()
				stream.Receive() // the snapshot, or the error
				return stream.Err()
			},
		}
		methods := queryv1.File_tidemark_query_v1_query_proto.Services().ByName("QueryService").Methods()
		for i := range methods.Len() {
			if name := string(methods.Get(i).Name()); calls[name] == nil {
				t.Errorf("%s is not tried", name)
			}
		}
		for name, call := range calls {
			broken.Store(true)
			log.Reset()
			err := call(t.Context())
			if connect.CodeOf(err) != connect.CodeInternal || strings.Contains(err.Error(), secret) {
				t.Errorf("%d nodes, %s with a bug: %v, want internal and nothing of the bug", nodes, name, err)
			}
			if text := log.String(); !strings.Contains(text, secret) || !strings.Contains(text, "panic_test.go") {
				t.Errorf("%d nodes, %s with a bug: the log has not where it is: %s", nodes, name, text)
			}
			broken.Store(false)
			if err := call(t.Context()); err != nil {
				t.Errorf("%d nodes, %s after a bug: %v", nodes, name, err)
			}
			// Each of these calls needs the lock of its partition.
			for _, p := range c.parts {
				if !p.TryLock() {
					t.Fatalf("%d nodes, %s with a bug: a partition stays locked", nodes, name)
				}
				p.Unlock()
			}
			c.post("general", name, "bob")
		}
	}
}

// A call that panics and waits for a source of its own leaves no goroutine behind (LeakFree of
// TestMain), and is counted and logged once.
func TestPanicIsLoggedAndCountedOnce(t *testing.T) {
	var log lockedBuffer
	c := newCluster(t, 2, 1, func(cfg *Config) {
		cfg.Logger = slog.New(slog.NewJSONHandler(&log, nil))
		cfg.planted = func(int32) { panic("planted") }
	})
	c.join("c", "ann")
	if status, answer := c.nodes[0].callJSON(t, "GetInbox", `{"user_id":"ann"}`); status != http.StatusInternalServerError ||
		!strings.HasPrefix(answer, `{"code":"internal"`) {
		t.Errorf("%d %s", status, answer)
	}
	if n := strings.Count(log.String(), "panic while answering"); n != 1 {
		t.Errorf("%d lines about one panic: %s", n, &log)
	}
}

// A panic before the methods, during authorization, has the same effect. Here it occurs in the
// check of the membership, after the answer was computed.
func TestPanicInFrontOfTheMethods(t *testing.T) {
	var reads atomic.Int32
	c := newCluster(t, 1, 1, func(cfg *Config) {
		cfg.Verifier = authtest.Verifier(t)
		cfg.planted = func(int32) {
			if reads.Add(1) == 2 {
				panic("planted")
			}
		}
	})
	c.join("c", "ann")
	get := func() error {
		_, err := c.nodes[0].query.GetChannel(t.Context(), called(&queryv1.GetChannelRequest{ChannelId: "c"}, authtest.Token(t, "ann", time.Hour)))
		return err
	}
	wantCode(t, "a bug", get(), connect.CodeInternal)
	if err := get(); err != nil {
		t.Errorf("after the bug: %v", err)
	}
}

// lockedBuffer takes the log of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}
