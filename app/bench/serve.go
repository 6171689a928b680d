package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
	queryv1 "github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// server is a node on a stage: processor and query service.
type server struct {
	*run
	url      string
	http     *http.Server
	producer *kgo.Client // of the service, partitioning as Kafka does
}

func (s *stage) serve(ctx context.Context) (_ *server, err error) {
	r, err := s.start(ctx, projections.DefaultSettings().FanoutLimit, false)
	if err != nil {
		return nil, err
	}
	sv := &server{run: r}
	defer func() {
		if err != nil {
			err = errors.Join(err, sv.close())
		}
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	sv.url = "http://" + l.Addr().String()
	if sv.producer, err = kgo.NewClient(kgo.SeedBrokers(s.env.Brokers...), kgo.ProducerLinger(0)); err != nil {
		return nil, err
	}
	stopping, cancel := context.WithCancel(ctx)
	sv.http = edge.NewServer(query.Handler(query.Config{
		Node: r.proc, Topics: r.cfg.Topics.Inputs, Self: sv.url, Stopping: stopping, Producer: sv.producer,
	}))
	sv.http.RegisterOnShutdown(cancel)
	go func() { _ = sv.http.Serve(l) }() // ends with close
	ends, err := s.ends(ctx)
	if err != nil {
		return nil, err
	}
	return sv, r.reach(ctx, ends)
}

func (sv *server) close() (err error) {
	if sv.http != nil {
		http.DefaultClient.CloseIdleConnections()
		// A connection counts as active for 5 s if its call ended before it was open.
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		err = sv.http.Shutdown(ctx)
	}
	if sv.producer != nil {
		sv.producer.Close()
	}
	return errors.Join(err, sv.stop())
}

// Serve measures latencies of clients: from an event's production to WatchUnread at light load,
// GetUnread at 5,000 requests per second, the inbox of a user in 100,000 channels, a panel of 100
// threads, reading 5,000 channels at once, and receipts in a channel of 100,000 members.
func Serve(ctx context.Context, env Env) (out []gauge.Result, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent)) // as a node has it
	// One user in 100,000 channels of 2, and the others.
	mix := traffic.Mix{Name: "inbox", Channels: 100_000, Members: 2, Users: 1, Seed: 4}
	err = on(ctx, env, mix, func(s *stage) error {
		if err := s.write(ctx, 20_000); err != nil {
			return err
		}
		sv, err := s.serve(ctx)
		if err != nil {
			return err
		}
		for _, b := range []func(context.Context) (gauge.Result, error){sv.inbox, sv.getUnread, sv.watch, sv.threads, sv.markAll} {
			r, err := b(ctx)
			if err != nil {
				return errors.Join(err, sv.close())
			}
			out = append(out, r)
		}
		rs, err := sv.receipts(ctx)
		out = append(out, rs...)
		return errors.Join(err, sv.close())
	})
	return out, err
}

func (sv *server) inbox(ctx context.Context) (gauge.Result, error) {
	sv.s.env.report("inbox of a user in 100,000 channels")
	client := queryv1connect.NewQueryServiceClient(http.DefaultClient, sv.url)
	var took []time.Duration
	var channels int
	for range 30 {
		began := time.Now()
		resp, err := client.GetInbox(ctx, connect.NewRequest(&queryv1.GetInboxRequest{UserId: traffic.UserID(0)}))
		if err != nil {
			return gauge.Result{}, err
		}
		took = append(took, time.Since(began))
		channels = len(resp.Msg.GetChannels())
	}
	p50, p99, _ := gauge.Quantiles(took)
	return gauge.Result{
		Name:  "GetInbox, 100,000 channels, first page and totals",
		Goals: []gauge.Goal{gauge.AtMost("ms, p50", p50, 50), gauge.AtMost("ms, p99", p99, 50)},
		Note:  fmt.Sprintf("%d requests one after the other, a page of %d", len(took), channels),
	}, nil
}

// getUnread calls at a steady rate, over as many connections as it needs.
func (sv *server) getUnread(ctx context.Context) (gauge.Result, error) {
	const rate, seconds, workers = 5_000, 5, 16
	sv.s.env.report("GetUnread, %d requests a second", rate)
	body := []byte(fmt.Sprintf(`{"user_id":%q,"channel_id":%q}`, traffic.UserID(0), traffic.ChannelID(7)))
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	due := make(chan time.Time, rate)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			var mine []time.Duration
			c, err := dialCaller(ctx, sv.url+queryv1connect.QueryServiceGetUnreadProcedure, body)
			if err == nil {
				defer c.conn.Close()
			}
			for t := range due {
				if err == nil {
					err = c.call()
				}
				mine = append(mine, time.Since(t))
			}
			mu.Lock()
			defer mu.Unlock()
			took, failed = append(took, mine...), errors.Join(failed, err)
		})
	}
	began := time.Now()
	for i := range rate * seconds {
		at := began.Add(time.Duration(i) * time.Second / rate)
		if d := time.Until(at); d > 0 {
			time.Sleep(d)
		}
		due <- time.Now()
	}
	close(due)
	wg.Wait()
	if failed != nil {
		return gauge.Result{}, failed
	}
	p50, p99, largest := gauge.Quantiles(took)
	return gauge.Result{
		Name:  "GetUnread at 5,000 requests a second",
		Goals: []gauge.Goal{gauge.AtMost("ms, p99", p99, 1)},
		Note:  fmt.Sprintf("p50 %.2f ms, largest %.1f ms of %d; client and server share the cores", p50, largest, len(took)),
	}, nil
}

// watch measures the time from the production of a message to its update, with a message every 20
// ms.
func (sv *server) watch(ctx context.Context) (gauge.Result, error) {
	sv.s.env.report("event to WatchUnread")
	const user, channel = "watcher", "watched"
	if _, err := sv.write(ctx, joins(channel, user, "other")); err != nil {
		return gauge.Result{}, err
	}
	client := queryv1connect.NewQueryServiceClient(http.DefaultClient, sv.url)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.WatchUnread(ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: user}))
	if err != nil {
		return gauge.Result{}, err
	}
	updates := make(chan uint32, 1000)
	go func() {
		defer close(updates)
		for stream.Receive() {
			if u := stream.Msg().GetUpdate(); u != nil {
				updates <- u.GetChannel().GetUnread()
			}
		}
	}()
	var took []time.Duration
	for i := range 400 {
		began := time.Now()
		if _, err := sv.write(ctx, posts(channel, fmt.Sprintf("w%d", i), "other", "")); err != nil {
			return gauge.Result{}, err
		}
		for got := uint32(0); got != uint32(i+1); {
			select {
			case u, ok := <-updates:
				if !ok {
					return gauge.Result{}, fmt.Errorf("WatchUnread ended: %w", stream.Err())
				}
				got = u
			case <-time.After(10 * time.Second):
				return gauge.Result{}, fmt.Errorf("WatchUnread did not send message %d within 10 s", i)
			}
		}
		if i >= 20 { // connections are warm
			took = append(took, time.Since(began))
		}
		time.Sleep(20*time.Millisecond - min(20*time.Millisecond, time.Since(began)))
	}
	p50, p99, largest := gauge.Quantiles(took)
	return gauge.Result{
		Name:  "event to WatchUnread, 50 events a second",
		Goals: []gauge.Goal{gauge.AtMost("ms, p50", p50, 10), gauge.AtMost("ms, p99", p99, 50)},
		Note:  fmt.Sprintf("largest %.1f ms of %d", largest, len(took)),
	}, nil
}
