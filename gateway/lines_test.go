package gateway_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/remote"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
)

// lines are the lines of a gateway to the servers that it uses, and of devices to the gateway.
type lines struct {
	kafka, redis, owners *proxy.Line
	devices              *proxy.Proxy
}

// gatewayBehindLines starts a gateway of its own beside a stack. Its address goes over the devices'
// line.
func (w *town) gatewayBehindLines() (l lines, url string) {
	w.t.Helper()
	l = lines{kafka: proxy.NewLine(w.t), redis: proxy.NewLine(w.t), owners: proxy.NewLine(w.t)}
	o, err := redis.ParseURL(w.RedisURL)
	if err != nil {
		w.t.Fatal(err)
	}
	o.Dialer = l.redis.Dialer(nil)
	rdb := redis.NewClient(o)
	opts := append(testkit.FastClientOpts(), kgo.Dialer(l.kafka.Dialer(nil)), kgo.RequestTimeoutOverhead(time.Second))
	g, err := gateway.New(gateway.Config{
		Brokers: []string{w.Broker}, ClientOptions: opts, Partitions: townPartitions, Query: w.ownersOver(l.owners),
		Producer: testkit.Client(w.t, []string{w.Broker}, append(opts, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))...),
		Redis:    rdb, Limits: boundless, DrainFor: 10 * time.Millisecond, ReceiptLimit: w.settings.ReceiptLimit,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/socket", g)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(ln) }) // ends with Close
	wg.Go(func() { _ = g.Run(ctx) })       // returns nil
	w.t.Cleanup(func() {
		cancel()
		_ = server.Close()
		wg.Wait()
		_ = rdb.Close()
	})
	l.devices = proxy.New(w.t, ln.Addr().String())
	return l, "http://" + l.devices.Addr()
}

// ownersOver calls the query service of the stack over a line.
func (w *town) ownersOver(l *proxy.Line) gateway.Queries {
	transport := &http.Transport{DialContext: l.Dialer(nil), ResponseHeaderTimeout: time.Second}
	w.t.Cleanup(transport.CloseIdleConnections)
	return remote.At(&http.Client{Transport: transport}, w.URL)
}

// until keeps writing until something has happened.
func (w *town) until(happened <-chan struct{}) {
	w.t.Helper()
	for ctx := within(w.t); ; {
		w.write(4)
		select {
		case <-happened:
			return
		case <-ctx.Done():
			w.t.Fatal("a cut did not happen")
		default:
		}
	}
}

// R7, R10: a gateway and its devices are behind connections that break while the company continues.
// The line to Kafka breaks amid answers, and is half-open; the line to the owners breaks while
// inboxes are read; the line to Redis breaks; and the devices' lines break amid frames, freeze, and
// are slow. In the end every device equals the log, and none has got anything that it had no right
// to.
func TestLinesOfTheGatewayBreak(t *testing.T) {
	w := newTown(t)
	l, addr := w.gatewayBehindLines()
	devices := []*device{w.device(addr, "user0", nil), w.device(addr, "user1", nil), w.device(addr, "user1", nil), w.device(addr, "user3", nil)}
	round := func(what string, attack func()) {
		t.Helper()
		before := devices[0].heard()
		attack()
		testkit.Await(t, "something is heard after: "+what, func() bool {
			w.paced(6, devices[0])
			return devices[0].heard() > before+5
		})
	}
	round("nothing yet", func() {})
	round("a fetch cut in its answer", func() { l.kafka.CutKafka(kmsg.Fetch, proxy.Answer, 2) })
	round("the ends of topics cut", func() {
		l.kafka.CutKafka(kmsg.ListOffsets, proxy.Answer, 1)
		l.kafka.Break()
	})
	round("inboxes cut", func() {
		l.owners.CutAfter(proxy.Down, 700)
		l.devices.Break()
	})
	round("frames cut", func() {
		for _, n := range []int64{1, 40, 300, 2000} {
			w.until(l.devices.CutAfter(proxy.Down, n))
		}
	})
	round("Redis away", func() {
		l.redis.Cut()
		l.devices.Break()
	})
	round("Kafka half-open", func() { l.kafka.Abandon(); l.redis.Mend() })
	round("owners away while devices come", func() {
		l.owners.Cut()
		l.devices.Break()
		w.write(10)
		l.owners.Mend()
	})
	round("slow devices", func() { l.devices.SetRate(100 << 10); l.devices.SetDelay(10 * time.Millisecond) })
	round("frozen devices", func() {
		l.devices.Freeze()
		w.write(30)
		l.devices.Mend()
	})
	w.write(20)
	truth := w.log()
	for _, d := range devices {
		d.agrees(truth)
	}
	t.Logf("%d records; connections: %d of devices, %d to Kafka, %d to owners", truth.Records, l.devices.Made(), l.kafka.Made(), l.owners.Made())
}
