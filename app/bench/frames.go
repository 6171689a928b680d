package bench

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/app/bench/swarm"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// frames posts at full speed into channels of 50 members who are all connected, then at half of
// that rate.
func (g *sockets) frames(ctx context.Context, c crowd) ([]gauge.Result, error) {
	g.s.env.report("%d messages to %d members each, as fast as it goes", c.messages, busyMembers)
	var setup []proto.Message
	var channels, everybody []string
	for i := range c.busy {
		channels = append(channels, fmt.Sprintf("busy%d", i))
		users := make([]string, busyMembers)
		for j := range users {
			users[j] = fmt.Sprintf("busy%d-%d", i, j)
		}
		setup, everybody = append(setup, joins(channels[i], users...)), append(everybody, users...)
	}
	if _, err := g.write(ctx, setup...); err != nil {
		return nil, err
	}
	if err := g.settled(ctx); err != nil { // so that the inboxes of their members have the channels
		return nil, err
	}
	if _, err := g.clients.Connect(swarm.Order{Connect: everybody, Addr: g.addr, AtOnce: 16}); err != nil {
		return nil, err
	}
	if _, err := g.flood(ctx, c.messages, channels); err != nil { // warms up, above all the broker
		return nil, err
	}
	full, err := g.flood(ctx, c.messages, channels)
	if err != nil {
		return nil, err
	}
	rate := float64(c.messages) / full.seconds / 2
	if err := g.settled(ctx); err != nil { // receipts of earlier messages
		return nil, err
	}
	g.s.env.report("%.0f messages a second", rate)
	half, err := g.paced(ctx, int(rate*c.half.Seconds()), time.Duration(float64(time.Second)/rate), channels, busyMembers)
	if err != nil {
		return nil, err
	}
	const steady = 100_000 / busyMembers // messages a second
	g.s.env.report("%d messages a second", steady)
	asked, err := g.paced(ctx, int(steady*c.half.Seconds()), time.Second/steady, channels, busyMembers)
	if err != nil {
		return nil, err
	}
	return []gauge.Result{
		{
			Name: fmt.Sprintf("frames into %d sockets, channels of %d", len(everybody), busyMembers),
			Rate: float64(c.messages) / full.seconds, Goals: []gauge.Goal{gauge.AtLeast("frames a second", float64(full.Frames)/full.seconds, 100_000)},
			Note: full.note(),
		},
		{
			Name:  fmt.Sprintf("event to socket at half of that, %.0f events a second", rate),
			Goals: []gauge.Goal{gauge.AtMost("ms, p99", half.Latency.P99, 100)},
			Note:  fmt.Sprintf("p50 %.1f ms, largest %.0f ms of %d frames", half.Latency.P50, half.Latency.Largest, half.Latency.N),
		},
		{
			Name:  "event to socket at 100,000 frames a second",
			Goals: []gauge.Goal{gauge.AtMost("ms, p99", asked.Latency.P99, 100)},
			Note:  fmt.Sprintf("p50 %.1f ms, largest %.0f ms of %d frames", asked.Latency.P50, asked.Latency.Largest, asked.Latency.N),
		},
	}, g.gone(ctx)
}

// flooded is the result of posting at full speed.
type flooded struct {
	swarm.Answer
	seconds     float64
	own, theirs time.Duration // CPU time of this process and of the clients
	machine     time.Duration
	messages    int64
}

func (f *flooded) note() string {
	perFrame := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(f.Frames) }
	others := max(0, f.machine-f.own-f.theirs)
	return fmt.Sprintf("%d messages, %.0f %% of the frames are counts; CPU us a frame: node and gateway %.2f, clients %.2f, brokers and others %.2f; p50 %.0f ms",
		f.messages, 100*float64(f.Frames-f.Messages)/float64(f.Frames), perFrame(f.own), perFrame(f.theirs), perFrame(others), f.Latency.P50)
}

// flood posts n messages as fast as possible. It limits the number of messages that not every
// member has received yet.
func (g *sockets) flood(ctx context.Context, n int, channels []string) (f flooded, err error) {
	const ahead = 2_000
	before, err := g.clients.Do(swarm.Order{Reset: true})
	if err != nil {
		return f, err
	}
	failed := make(chan error, 1)
	began, own, machine := time.Now(), gauge.SelfCPU(), gauge.MachineCPU()
	for posted := 0; posted < n; {
		a, err := g.received(ctx, int64(max(0, posted-ahead+ahead/10))*busyMembers, failed)
		if err != nil {
			return f, err
		}
		list := make([]*eventsv1.MessageEvent, 0, ahead)
		for capacity := ahead - (posted - int(a.Messages/busyMembers)); len(list) < capacity && posted < n; posted++ {
			list = append(list, posts(channels[posted%len(channels)], swarm.MessageID(time.Now(), posted), "other", ""))
		}
		if err := g.put(ctx, failed, list...); err != nil {
			return f, err
		}
	}
	f.Answer, err = g.received(ctx, int64(n)*busyMembers, failed)
	f.seconds, f.messages = time.Since(began).Seconds(), int64(n)
	f.own, f.machine, f.theirs = gauge.SelfCPU()-own, gauge.MachineCPU()-machine, time.Duration(f.CPU-before.CPU)*time.Microsecond
	return f, err
}
