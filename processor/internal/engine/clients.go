package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
)

// ClientOptions returns the options that every client has, by the role of the client.
func (r *Engine) ClientOptions(role string) []kgo.Opt {
	return r.clientOptions(role, r.Config.Registerer)
}

// ProducerOptions returns those of the producer. Its gauges of buffered records include the records
// that buffered reports.
func (r *Engine) ProducerOptions(buffered func() (records, bytes int64)) []kgo.Opt {
	to := r.Config.Registerer
	if to != nil {
		to = withBuffered{to, buffered}
	}
	return r.clientOptions("producer", to)
}

func (r *Engine) clientOptions(role string, to prometheus.Registerer) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(r.Config.Brokers...),
		kgo.ClientID("tidemark-" + role),
		kgo.WithHooks(kprom.NewMetrics("tidemark", kprom.Subsystem("processor_kafka"), kprom.WithClientLabel(),
			kprom.Registerer(to))),
		kgo.DisableClientMetrics(),
	}
}

// TailOptions returns the options of a client that fetches for standbys and rebuilds. It is in no
// group and commits nothing.
func (r *Engine) TailOptions() []kgo.Opt {
	opts := []kgo.Opt{kgo.WithLogger(ClientLog{r.Log}), kgo.FetchMaxWait(250 * time.Millisecond)}
	opts = append(opts, r.Config.ClientOptions...)
	opts = append(opts, r.ClientOptions("standby")...)
	return append(opts,
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(),
	)
}

// Flow returns the function with which an inbox pauses and resumes a partition's inputs at client.
func (r *Engine) Flow(number int32, client *kgo.Client) func(in events.Input, paused bool) {
	return func(in events.Input, paused bool) {
		one := map[string][]int32{r.Config.Topics.Inputs[in]: {number}}
		if paused {
			client.PauseFetchPartitions(one)
		} else {
			client.ResumeFetchPartitions(one)
		}
	}
}

// ClientLog logs the Kafka client's warnings and errors. The client's other lines concern single
// requests.
type ClientLog struct{ To *slog.Logger }

// Level implements kgo.Logger.
func (ClientLog) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log implements kgo.Logger.
func (l ClientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	severity := slog.LevelWarn
	if level == kgo.LogLevelError {
		severity = slog.LevelError
	}
	// A value that panics when it is printed costs only its line.
	_ = guard.Do("logging a line", func() { l.To.Log(context.Background(), severity, "kafka client: "+msg, keyvals...) })
}
