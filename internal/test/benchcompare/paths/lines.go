package paths

import (
	"github.com/tidemark/tidemark/internal/traffic"
)

// line is one measurement: a mix, and how the node runs.
type line struct {
	name   string
	mix    string
	fanout string // --fanout-limit
	memory string // --memory
	cache  bool   // the node fills Redis, and the line ends when Redis has everything
	packed bool   // --redis-values packed --redis-keys inbox, for binaries that have these flags
	echo   bool   // compared with the echo of the same events
	disk   bool   // reports the bytes written to disk
	warm   int    // events before the measured ones
	events int
}

// lines are measured in this order in each round.
var lines = []line{
	{name: "node, mix B, fan-out off", mix: "B", fanout: "0", memory: "8GiB", echo: true, warm: 400_000, events: 1_600_000},
	{name: "node, mix A, fan-out off", mix: "A", fanout: "0", memory: "8GiB", warm: 200_000, events: 800_000},
	{name: "node, mix A, fan-out 50", mix: "A", fanout: "50", memory: "8GiB", warm: 150_000, events: 400_000},
	{name: "node, mix A, fan-out 50, Redis", mix: "A", fanout: "50", memory: "8GiB", cache: true, warm: 400_000, events: 800_000},
	{name: "node, mix C, fan-out off, --memory 1GiB", mix: "C", fanout: "0", memory: "1GiB", echo: true, disk: true, warm: 300_000, events: 1_200_000},
	{name: "node, mix C, fan-out off, --memory 8GiB", mix: "C", fanout: "0", memory: "8GiB", echo: true, disk: true, warm: 300_000, events: 1_200_000},
	{name: "node, mix C, fan-out 50, Redis", mix: "C", fanout: "50", memory: "8GiB", cache: true, warm: 200_000, events: 600_000},
	{name: "node, mix B, fan-out 50, Redis", mix: "B", fanout: "50", memory: "8GiB", cache: true, warm: 200_000, events: 600_000},
	{name: "node, mix C, fan-out 50, Redis, packed inbox", mix: "C", fanout: "50", memory: "8GiB", cache: true, packed: true, warm: 200_000, events: 600_000},
	{name: "node, mix B, fan-out 50, Redis, packed inbox", mix: "B", fanout: "50", memory: "8GiB", cache: true, packed: true, warm: 200_000, events: 600_000},
}

// echoEvents is how many events of each mix are echoed.
const echoEvents = 1_600_000

// of returns share times n, and something that can be measured if that is little.
func of(share float64, n int) int { return max(1_000, int(share*float64(n))) }

// sized returns the line with its share of events.
func (l line) sized(share float64) line {
	l.warm, l.events = of(share, l.warm), of(share, l.events)
	return l
}

// mixOf returns a mix by name, with its share of channels.
func mixOf(name string, share float64) traffic.Mix {
	m := traffic.Mixes[name]
	m.Channels = min(m.Channels, of(share, m.Channels))
	return m
}

// pairs is the number of users in channels of a mix.
func pairs(m traffic.Mix) int { return m.Channels * m.Members }
