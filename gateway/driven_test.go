package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
	"github.com/tidemark/tidemark/query/queryv1"
)

// These are the topics that a driven gateway reads.
const (
	ofMessages = iota
	ofDeltas
	ofRecords
	drivenTopics
)

// driven is a gateway whose feed a test drives, with one partition and one owner. Each topic
// arrives in its own order, independently of the others. Inboxes are read and installed at any
// time, and so are answers.
type driven struct {
	g       *Gateway
	p       *projections.Partition
	arrive  [drivenTopics][]func() // records that have not arrived yet
	devices []*drivenDevice
	loads   chan struct{} // an inbox must be read
	decoder decoder
}

// drivenDevice is the device of a user, and its written frames.
type drivenDevice struct {
	user   string
	c      *conn // nil: there is no connection
	frames []json.RawMessage
	wants  bool   // its inbox must be read
	inbox  *inbox // read and not installed yet
	after  []string
}

// drive creates a gateway whose clock stands still.
func drive(p *projections.Partition) *driven {
	d := &driven{g: bare(), p: p, loads: make(chan struct{}, 64)}
	d.g.cfg.Now, d.g.cfg.Logger = func() time.Time { return time.UnixMilli(script.Start) }, slog.New(slog.DiscardHandler)
	d.g.cfg.Topics = Topics{Messages: events.TopicMessages, Reads: events.TopicReads, Deliveries: events.TopicDeliveries}
	d.g.asks, d.g.snapshots = make(chan ask, maxAsks), make(chan struct{}, 1)
	d.g.loads.Store(1) // some inbox is always being read
	d.g.query = stoodStill{query.NewLocal(query.Config{Node: onlyNode{p: p}, Now: d.g.cfg.Now})}
	return d
}

// onlyNode is a query.Node that owns the only partition.
type onlyNode struct {
	query.Node
	p *projections.Partition
}

func (n onlyNode) Partitions() int32                                      { return 1 }
func (n onlyNode) Live(int32) (*projections.Partition, error)             { return n.p, nil }
func (n onlyNode) Wait(context.Context, int32, events.Input, int64) error { return nil }

// stoodStill evaluates every query as of time zero.
type stoodStill struct{ *query.Local }

var beginning = timestamppb.New(time.UnixMilli(script.Start))

func (s stoodStill) GetUnread(ctx context.Context, m *queryv1.GetUnreadRequest) (*queryv1.ChannelUnread, error) {
	m.EvaluatedAt = beginning
	return s.Local.GetUnread(ctx, m)
}

func (s stoodStill) GetInbox(ctx context.Context, m *queryv1.GetInboxRequest) (*queryv1.GetInboxResponse, error) {
	m.EvaluatedAt = beginning
	return s.Local.GetInbox(ctx, m)
}

func (s stoodStill) GetThreads(ctx context.Context, m *queryv1.GetThreadsRequest) (*queryv1.GetThreadsResponse, error) {
	m.EvaluatedAt = beginning
	return s.Local.GetThreads(ctx, m)
}

// connect gives a device a connection, which replaces the existing one.
func (d *driven) connect(dev *drivenDevice) {
	h := d.g.hubs.list[0]
	if dev.c != nil {
		h.disconnect(dev.c)
	}
	dev.c = &conn{g: d.g, load: func(*conn) { d.loads <- struct{}{} }, Conn: wire.Unconnected(context.Background(), d.g.wireSettings(), "device")}
	dev.inbox, dev.after, dev.wants = nil, nil, true
	h.connect(dev.c, dev.user, 1)
}

// drain publishes the partition's changes.
func (d *driven) drain(t *rapid.T) {
	var out projections.Deltas
	d.p.Drain(&out, true)
	for _, r := range out.Records {
		record := &kgo.Record{Key: slices.Clone(r.Key), Value: slices.Clone(r.Value)}
		switch r.Topic {
		case projections.OutUnread:
			d.arrives(t, ofDeltas, d.g.takeDelta, record)
		case projections.OutChannels:
			d.arrives(t, ofRecords, d.g.takeChannel, record)
		}
	}
}

// fold folds a record. A message will also arrive at the gateway.
func (d *driven) fold(t *rapid.T, r *script.Record) {
	r.Fold(d.p)
	if r.Input != events.Messages {
		return
	}
	value, err := r.Value()
	if err != nil {
		t.Fatal(err)
	}
	d.arrives(t, ofMessages, d.g.takeMessage, &kgo.Record{Key: r.Key(), Value: value, Offset: r.Offset, Timestamp: time.UnixMilli(r.Timestamp)})
}

// arrives adds a record to a topic. When it arrives, the gateway takes it with take.
func (d *driven) arrives(t *rapid.T, topic int, take func(*kgo.Record, *decoder) error, r *kgo.Record) {
	d.arrive[topic] = append(d.arrive[topic], func() {
		if err := take(r, &d.decoder); err != nil {
			t.Fatal(err)
		}
	})
}

// step performs one action of a kind, if there is any, and reports whether it did.
func (d *driven) step(t *rapid.T, what int) (done bool) {
	switch {
	case what < drivenTopics && len(d.arrive[what]) > 0:
		f := d.arrive[what][0]
		d.arrive[what] = d.arrive[what][1:]
		f()
		done = true
	case what == drivenTopics && len(d.g.asks) > 0:
		d.g.answerAsk(context.Background(), <-d.g.asks)
		done = true
	case what > drivenTopics:
		done = d.load(t, d.devices[(what-drivenTopics-1)%len(d.devices)])
	}
	for _, dev := range d.devices {
		d.begun(dev)
	}
	return done
}

// begun records that the gateway has begun to read a device's inbox, which it does in a goroutine.
func (d *driven) begun(dev *drivenDevice) {
	if dev.c == nil || dev.wants {
		return
	}
	d.g.hubs.list[0].mu.With(func() { dev.wants = dev.c.loading })
	if dev.wants {
		<-d.loads
	}
}

// load performs the next step of reading an inbox.
func (d *driven) load(t *rapid.T, dev *drivenDevice) bool {
	switch {
	case dev.c == nil || !dev.wants:
		return false
	case dev.inbox == nil:
		in, err := d.g.readInbox(dev.c, dev.after)
		if err != nil {
			t.Fatal(err)
		}
		dev.inbox = in
	default:
		in := dev.inbox
		dev.inbox = nil
		if dev.after = d.g.install(dev.c, in, true); dev.after == nil {
			dev.wants = false
			d.begun(dev)
		}
	}
	return true
}

// write writes a device's waiting frames.
func (d *driven) write(dev *drivenDevice) {
	if dev.c == nil {
		return
	}
	for _, it := range dev.c.Waiting() {
		dev.frames = append(dev.frames, slices.Clone(it.Bytes()))
	}
	dev.c.DropValues() // and all other frames
}

// settle performs all pending actions, and writes the results.
func (d *driven) settle(t *rapid.T) {
	for quiet := false; !quiet; {
		quiet = true
		for what := range drivenTopics + 1 + len(d.devices) {
			for d.step(t, what) {
				quiet = false
			}
		}
	}
	for _, dev := range d.devices {
		d.write(dev)
	}
}
