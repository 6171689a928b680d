package inboxes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// Run measures the first page of a user in 40 of many channels, which are in 1,024 partitions on
// two nodes, while both nodes fold messages. GetInbox queries only the partitions that have rows of
// the user.
func Run(ctx context.Context, progress io.Writer) ([]gauge.Result, error) {
	return measure(ctx, progress, 1024, 2000, 20_000, 2_000)
}

// measure is Run with a number of partitions, users and calls. rate is the number of messages that
// both nodes together fold per second.
func measure(ctx context.Context, progress io.Writer, partitions, calls, users, rate int) (_ []gauge.Result, err error) {
	const inChannels, members = 40, 20
	report(progress, "%d partitions, %d users in %d channels each", partitions, users, inChannels)
	s, err := startSpread(partitions)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r := rand.New(rand.NewPCG(8, 8)) //nolint:gosec // the same traffic each time
	channels := users * inChannels / members
	for c := range channels {
		in := make([]string, members)
		for i := range in {
			in[i] = spreadUser(r.IntN(users))
		}
		s.join(spreadChannel(c), in...)
		s.post(spreadChannel(c), fmt.Sprintf("c%d-m1", c), in[0])
	}
	const mine = "ann-of-the-bench"
	for range inChannels {
		channel := spreadChannel(r.IntN(channels))
		s.join(channel, mine)
		s.read(channel, mine)
	}
	stop := make(chan struct{})
	stopped := make(chan struct{})
	var folded atomic.Int64
	go func() { // folds as many events as a light load has
		defer close(stopped)
		r := rand.New(rand.NewPCG(9, 9)) //nolint:gosec // the same traffic each time
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			for range rate / 100 {
				n := folded.Add(1)
				s.post(spreadChannel(r.IntN(channels)), fmt.Sprintf("l%d", n), spreadUser(r.IntN(users)))
			}
		}
	}()
	defer func() { close(stop); <-stopped }()

	var out []gauge.Result
	for _, kind := range []string{"application/proto", "application/json"} {
		report(progress, "GetInbox of one user, %s", kind)
		got, err := s.ask(ctx, kind, mine, calls)
		if err != nil {
			return out, err
		}
		p50, p99, largest := gauge.Quantiles(got.took)
		res := gauge.Result{
			Name: fmt.Sprintf("GetInbox, %d channels in %d partitions on two nodes, %s", inChannels, partitions, kind),
			Note: fmt.Sprintf("p50 %.2f ms, largest %.1f ms of %d; %d bytes of body, %d of them of %d tokens, %d bytes with gzip; %d messages a second are folded",
				p50, largest, len(got.took), got.body, got.asOf, got.tokens, got.zipped, rate),
			Goals: []gauge.Goal{gauge.AtMost("ms, p99", p99, 2), gauge.AtMost("KB, as clients get it", float64(got.zipped)/1000, 4)},
		}
		out = append(out, res)
	}
	return out, nil
}

func spreadUser(n int) string    { return fmt.Sprintf("user-%06d", n) }
func spreadChannel(n int) string { return fmt.Sprintf("channel-%06d", n) }

// inboxAnswers has the results of calls of GetInbox.
type inboxAnswers struct {
	took                       []time.Duration
	body, zipped, asOf, tokens int // of the last
}

// ask calls GetInbox of one node repeatedly, one call after the other. It asks for compressed
// answers, as clients do by default.
func (s *spread) ask(ctx context.Context, kind, user string, calls int) (got inboxAnswers, err error) {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	body := []byte(fmt.Sprintf(`{"user_id":%q}`, user))
	if kind == "application/proto" {
		if body, err = proto.Marshal(&queryv1.GetInboxRequest{UserId: user}); err != nil {
			return got, err
		}
	}
	call := func(encoding string) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.nodes[0].url+queryv1connect.QueryServiceGetInboxProcedure, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", kind)
		req.Header.Set("Accept-Encoding", encoding)
		res, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("the node answers %s: %.200s", res.Status, b)
		}
		return b, err
	}
	const warm = 100
	for i := range calls + warm {
		began := time.Now()
		b, err := call("gzip")
		if err != nil {
			return got, err
		}
		if i >= warm {
			got.took = append(got.took, time.Since(began))
		}
		got.zipped = len(b)
	}
	plain, err := call("identity")
	if err != nil {
		return got, err
	}
	got.body = len(plain)
	if kind != "application/proto" {
		i, j := bytes.LastIndex(plain, []byte(`"as_of":[`)), bytes.LastIndexByte(plain, ']')
		if i >= 0 && j > i {
			got.asOf, got.tokens = j-i, bytes.Count(plain[i:j], []byte(","))+1
		}
		return got, nil
	}
	var m queryv1.GetInboxResponse
	if err := proto.Unmarshal(plain, &m); err != nil {
		return got, err
	}
	if len(m.Channels) == 0 {
		return got, errors.New("the inbox is empty")
	}
	for _, token := range m.AsOf {
		got.asOf += len(token)
	}
	got.tokens = len(slices.Compact(m.AsOf))
	return got, nil
}

func report(w io.Writer, format string, args ...any) {
	if w != nil {
		fmt.Fprintf(w, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
	}
}
