package dev

import (
	"log/slog"
	"time"

	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/projections"
)

// Config configures a stack. The zero value works: free ports, a temporary directory, 4 partitions,
// no demo.
type Config struct {
	Listen, KafkaListen, RedisListen string // host:port; empty: a free port of 127.0.0.1
	// Movable has the flags (--listen, --kafka-listen, --redis-listen) whose port may change if it
	// is in use: to one of the next ports, or any free one.
	Movable map[string]bool
	// DataDir keeps topics and state from one start to the next. Empty: a temporary directory,
	// removed by Close.
	DataDir    string
	Partitions int32                // 0 = 4
	Settings   projections.Settings // zero: projections.DefaultSettings
	Memory     config.Bytes         // 0: no limit
	// SnapshotEvery is the time between two snapshots of a partition, into DataDir/snapshots; 0:
	// none are taken.
	SnapshotEvery time.Duration
	// Verifier checks tokens; nil: there are no keys. Gateway is as in node.Config.
	Verifier *auth.Verifier
	Gateway  gateway.Config
	Hosts    []string // as in edge.Config
	// ThreadsAlways, RedisValues and RedisKeys are as in node.Config.
	ThreadsAlways bool
	RedisValues   string
	RedisKeys     []string
	Audit         *audit.Log // as in node.Config
	Demo          bool
	DemoSeed      uint64

	Build  obs.Build
	Logger *slog.Logger // nil: nowhere
	// LogLevel is as in node.Config.
	LogLevel *obs.Level
}

func (c Config) withDefaults() Config {
	for _, addr := range []*string{&c.Listen, &c.KafkaListen, &c.RedisListen} {
		if *addr == "" {
			*addr = "127.0.0.1:0"
		}
	}
	if c.Partitions == 0 {
		c.Partitions = 4
	}
	if c.Settings == (projections.Settings{}) {
		c.Settings = projections.DefaultSettings()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
