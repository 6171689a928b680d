package gateway_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/workload"
	"github.com/tidemark/tidemark/projections"
)

// town is a stack with the traffic of a company. Devices are compared with its log.
type town struct {
	t *testing.T
	*dev.Stack
	settings projections.Settings
	cl       *kgo.Client
	work     *workload.Workload
	batch    []*kgo.Record
	pulse    int
}

const townPartitions = 2

// newTown starts a stack with limits that devices do not reach, although they reconnect repeatedly.
func newTown(t *testing.T) *town {
	t.Helper()
	w := &town{t: t, settings: projections.DefaultSettings()}
	w.settings.FanoutLimit, w.settings.ReceiptLimit = 5, 5
	w.Stack = start(t, dev.Config{Partitions: townPartitions, Settings: w.settings, Gateway: gateway.Config{Limits: boundless}})
	w.cl = testkit.Client(t, []string{w.Broker}, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	seed := rand.Uint64()
	t.Logf("seed of the company: %d", seed)
	w.work = workload.New(seed, workload.Company{Partitions: townPartitions, People: 5, Busy: []int{4}, Quiet: 4, Parts: random.Admitted()},
		func(r *kgo.Record) { w.batch = append(w.batch, r) })
	w.event(&eventsv1.MessageEvent{ChannelId: "pulse", Kind: &eventsv1.MessageEvent_MembersJoined{
		MembersJoined: &eventsv1.MembersJoined{UserIds: []string{"user0", "user1"}}}})
	w.event(&eventsv1.MessageEvent{ChannelId: "crowd", Kind: &eventsv1.MessageEvent_MembersJoined{
		MembersJoined: &eventsv1.MembersJoined{UserIds: []string{"user0", "user1", "user2", "user3", "user4", "user5", "user6"}}}})
	return w
}

var boundless = gateway.Limits{HandshakesPerSecond: 1e6, HandshakesBurst: 1e6}

// write writes some events of the company, and a message into one channel of each size. Every
// device is a member of these channels.
func (w *town) write(n int) {
	w.t.Helper()
	w.work.Write(n)
	w.pulse++
	for _, channel := range []string{"pulse", "crowd"} {
		w.event(&eventsv1.MessageEvent{ChannelId: channel, Kind: &eventsv1.MessageEvent_MessagePosted{
			MessagePosted: &eventsv1.MessagePosted{MessageId: fmt.Sprintf("%s-%d", channel, w.pulse), SenderId: "user2"}}})
	}
	if err := w.cl.ProduceSync(within(w.t), w.batch...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
	w.batch = w.batch[:0]
}

// event adds an event to the next batch, at the company's time.
func (w *town) event(e *eventsv1.MessageEvent) {
	value, err := proto.Marshal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	w.batch = append(w.batch, &kgo.Record{
		Topic: events.TopicMessages, Partition: events.PartitionOf([]byte(e.ChannelId), townPartitions), Key: []byte(e.ChannelId),
		Value: value, Timestamp: w.work.Now(),
	})
}

// log returns the content of the input topics.
func (w *town) log() *checker.Log {
	w.t.Helper()
	ends, err := kadm.NewClient(w.cl).ListEndOffsets(within(w.t), events.InputTopics[:]...)
	if err != nil || ends.Error() != nil {
		w.t.Fatal(err, ends.Error())
	}
	total := int64(0)
	ends.Each(func(o kadm.ListedOffset) { total += o.Offset })
	cl := testkit.Client(w.t, []string{w.Broker}, kgo.ConsumeTopics(events.InputTopics[:]...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	var list []*kgo.Record
	for int64(len(list)) < total {
		fetches := cl.PollFetches(within(w.t))
		if err := fetches.Err(); err != nil {
			w.t.Fatal(err)
		}
		list = append(list, fetches.Records()...)
	}
	return checker.NewLog(w.settings, townPartitions, list)
}

// device is a client that connects again whenever its connection ends.
type device struct {
	t   *testing.T
	url string
	// frames returns how many frames the device takes on its n-th connection before it ends the
	// connection; negative: all. If frames is nil, the device takes all frames of every connection.
	frames func(n int) int

	mu          sync.Mutex
	is          checker.Device
	connections int
	wrong       error
}

// device starts a device, which ends with the test.
func (w *town) device(url, user string, frames func(int) int) *device {
	d := &device{t: w.t, url: url + "/v1/socket?user_id=" + user, frames: frames, is: checker.Device{User: user}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if !d.connection(ctx) {
				time.Sleep(5 * time.Millisecond) // a client's backoff
			}
		}
	}()
	w.t.Cleanup(func() { cancel(); <-done })
	return d
}

// connection runs one connection. It reports whether there was one.
func (d *device) connection(ctx context.Context) bool {
	within, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(within, d.url, nil) //nolint:bodyclose // Dial sees to it
	if err != nil {
		return false
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(16 << 20)
	d.mu.Lock()
	d.is.Connected()
	d.connections++
	left := -1
	if d.frames != nil {
		left = d.frames(d.connections)
	}
	d.mu.Unlock()
	for ; left != 0; left-- {
		// A real client pings a silent gateway; this one gives up.
		quiet, cancel := context.WithTimeout(ctx, 15*time.Second)
		_, b, err := ws.Read(quiet)
		cancel()
		if err != nil {
			return true
		}
		d.mu.Lock()
		if err := d.is.Apply(b); err != nil && d.wrong == nil {
			d.wrong = err
		}
		d.mu.Unlock()
	}
	return true
}

// heard returns the number of messages that the device got.
func (d *device) heard() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.is.Messages
}

// paced writes no faster than the events are folded and sent. Otherwise a device would wait for its
// inbox, which includes everything written before it, and would not be cut off at the planned
// frame.
func (w *town) paced(n int, listener *device) {
	before := listener.heard()
	w.write(n)
	for until := time.Now().Add(2 * time.Second); listener.heard() < before+2 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
}

// made returns the number of connections so far.
func (d *device) made() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.connections
}

// agrees waits until the device equals the log, or reports the differences (O8, O9).
func (d *device) agrees(l *checker.Log) {
	d.t.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		d.mu.Lock()
		findings, wrong := d.is.Check(l, time.Now().UnixMilli()), d.wrong
		d.mu.Unlock()
		if wrong != nil {
			d.t.Error(wrong)
		}
		if wrong != nil || findings.Count == 0 || time.Now().After(until) {
			findings.Report(d.t)
			return
		}
	}
}
