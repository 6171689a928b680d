package setup

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/events"
)

// Checked is a validated Config with all defaults filled in. The packages of the processor use it.
type Checked struct {
	Config
	Hooks
	// Skips are the records of Config.Skip.
	Skips map[events.RecordID]bool
	// BatchBytes is how large a record batch may be after decompression, as in ClientOptions
	// (package inflate). The code that creates the client sets it.
	BatchBytes int
	// Memory shares Config.HotBytes.
	Memory *Memory
}

// Check checks c and fills in its defaults.
func Check(c Config) (Checked, error) {
	switch {
	case len(c.Brokers) == 0:
		return Checked{}, errors.New("processor: no brokers are configured")
	case c.Group == "":
		return Checked{}, errors.New("processor: no group is configured")
	}
	for i := range c.Topics.Inputs {
		c.Topics.Inputs[i] = cmp.Or(c.Topics.Inputs[i], events.InputTopics[i])
	}
	c.Topics.Unread = cmp.Or(c.Topics.Unread, events.TopicUnread)
	c.Topics.Channels = cmp.Or(c.Topics.Channels, events.TopicChannels)
	c.Topics.Receipts = cmp.Or(c.Topics.Receipts, events.TopicReceipts)
	c.Topics.DeadLetters = cmp.Or(c.Topics.DeadLetters, events.TopicDeadLetters)
	c.BatchRecords = cmp.Or(c.BatchRecords, 10_000)
	c.UndrainedPairs = cmp.Or(c.UndrainedPairs, 1<<18)
	c.BatchTime = cmp.Or(c.BatchTime, 20*time.Millisecond)
	c.FanoutDelay = cmp.Or(c.FanoutDelay, 250*time.Millisecond)
	c.JoinDelay = cmp.Or(c.JoinDelay, time.Second)
	c.CutEvery = cmp.Or(c.CutEvery, DefaultCutEvery)
	c.CutBytes = cmp.Or(c.CutBytes, DefaultCutBytes)
	c.CommitEvery = cmp.Or(c.CommitEvery, 100*time.Millisecond)
	c.QueueBytes = cmp.Or(c.QueueBytes, 128<<20)
	c.MergeWait = cmp.Or(c.MergeWait, time.Second)
	c.NearRecords = cmp.Or(c.NearRecords, 20_000)
	c.StandbyEvery = cmp.Or(c.StandbyEvery, 250*time.Millisecond)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 10*time.Second)
	c.StopTimeout = cmp.Or(c.StopTimeout, 30*time.Second)
	c.ShutdownTimeout = cmp.Or(c.ShutdownTimeout, 7*time.Second)
	c.Breaker = c.Breaker.withDefaults()
	if err := c.negative(); err != nil {
		return Checked{}, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Registerer == nil {
		c.Registerer = prometheus.NewRegistry()
	}
	all := Checked{Config: c, Hooks: c.hooks.withDefaults(), Skips: map[events.RecordID]bool{}, Memory: &Memory{Bytes: c.HotBytes}}
	for _, r := range c.Skip {
		all.Skips[r] = true
	}
	return all, nil
}

// negative returns an error that names a negative field of c that must not be negative.
func (c *Config) negative() error {
	for _, d := range []struct {
		name string
		bad  bool
	}{
		{"BatchRecords", c.BatchRecords < 1}, {"BatchTime", c.BatchTime < 0}, {"UndrainedPairs", c.UndrainedPairs < 1}, {"FanoutDelay", c.FanoutDelay < 0},
		{"JoinDelay", c.JoinDelay < 0},
		{"CutEvery", c.CutEvery < 0}, {"CutBytes", c.CutBytes < 1}, {"HotBytes", c.HotBytes < 0}, {"CommitEvery", c.CommitEvery < 0},
		{"QueueBytes", c.QueueBytes < 1}, {"MergeWait", c.MergeWait < 0}, {"StopTimeout", c.StopTimeout < 0},
		{"ShutdownTimeout", c.ShutdownTimeout < 0},
		{"Standbys", c.Standbys < 0}, {"NearRecords", c.NearRecords < 0}, {"StandbyEvery", c.StandbyEvery < 0},
		{"SessionTimeout", c.SessionTimeout < 0}, {"StoreRetention", c.StoreRetention < 0},
	} {
		if d.bad {
			return fmt.Errorf("processor: %s is negative", d.name)
		}
	}
	return nil
}

// minInputBytes is how much an input of a partition may always hold in memory.
const minInputBytes = 2 << 20

// InputBytes returns how many bytes of records one input of a partition may hold when this many
// partitions share the memory.
func (c *Checked) InputBytes(partitions int) int64 {
	return max(c.QueueBytes/int64(events.NumInputs*max(partitions, 1)), minInputBytes)
}
