package node

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/config"
)

// memoryMetrics are the shares of a memory limit, so that an alert can compare them with the used
// memory.
func memoryMetrics(m config.Memory) prometheus.Collector {
	shares := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "tidemark_memory_share_bytes", Help: "Shares of the memory limit (--memory): limit, heap, hot, cache, queue. Channels leave memory when the hot state is larger than its share.",
	}, []string{"share"})
	for share, bytes := range map[string]config.Bytes{"limit": m.Limit, "heap": m.Heap, "hot": m.Hot, "cache": m.Cache, "queue": m.Queue} {
		shares.WithLabelValues(share).Set(float64(bytes))
	}
	return shares
}

// redisMetrics times the calls to Redis outside of its client, including the wait for a connection
// and the client's retries.
type redisMetrics struct {
	seconds *prometheus.HistogramVec
	errors  *prometheus.CounterVec
}

func newRedisMetrics(r prometheus.Registerer) *redisMetrics {
	m := &redisMetrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tidemark_redis_seconds", Help: "Time of a command or pipeline of Redis, failed ones included, by the role that waits for it.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"role"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidemark_redis_errors_total", Help: "Commands and pipelines of Redis that failed, by the role that waited.",
		}, []string{"role"}),
	}
	r.MustRegister(m.seconds, m.errors)
	return m
}

// of is the hook for the client of a role. Its series stand at 0 from the start.
func (m *redisMetrics) of(role config.Role) redis.Hook {
	return redisHook{m.seconds.WithLabelValues(string(role)), m.errors.WithLabelValues(string(role))}
}

type redisHook struct {
	seconds prometheus.Observer
	errors  prometheus.Counter
}

func (h redisHook) note(began time.Time, err error) {
	h.seconds.Observe(time.Since(began).Seconds())
	if err != nil && !errors.Is(err, redis.Nil) && !errors.Is(err, context.Canceled) {
		h.errors.Inc()
	}
}

// DialHook implements redis.Hook.
func (redisHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h redisHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		h.note(began, err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmds)
		h.note(began, err)
		return err
	}
}
