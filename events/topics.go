package events

import (
	"strconv"
	"strings"
)

// Names of the topics.
const (
	TopicMessages    = "chat.messages"
	TopicReads       = "chat.reads"
	TopicDeliveries  = "chat.deliveries"
	TopicUnread      = "tidemark.unread"
	TopicChannels    = "tidemark.channels"
	TopicReceipts    = "tidemark.receipts"
	TopicDeadLetters = "tidemark.dead-letters"
)

// InputTopics are the names of the inputs, indexed by Input. They have the same number of
// partitions.
var InputTopics = [NumInputs]string{Messages: TopicMessages, Reads: TopicReads, Deliveries: TopicDeliveries}

// String is the topic's name.
func (in Input) String() string {
	if int(in) < len(InputTopics) {
		return InputTopics[in]
	}
	return "Input(" + strconv.Itoa(int(in)) + ")"
}

// TopicSpec describes a topic: how to create it, and what a check compares.
type TopicSpec struct {
	Name        string
	Partitions  int32
	Replication int16
	Configs     map[string]string // only what must not be left to the broker's defaults
}

const (
	day = 24 * 60 * 60 * 1000 // milliseconds

	// inputBatchBytes has room for the longest value, its key and the overhead of a batch.
	inputBatchBytes = MaxValueBytes + 64<<10
	// deadLetterBatchBytes has room for any record of an input topic and the headers that a dead
	// letter adds.
	deadLetterBatchBytes = inputBatchBytes + 64<<10
)

// Unprefixed returns the topic that name ends in, or "" if there is none. A reshard puts a prefix
// before the names of topics.
func Unprefixed(name string, topics ...string) string {
	for _, topic := range topics {
		if strings.HasSuffix(name, topic) {
			return topic
		}
	}
	return ""
}

// TopicSpecs returns all topics in the order of the constants above, each with the same number of
// partitions, so that one number describes a deployment.
//
//   - Inputs are kept forever. They are the durable log, and everything else is a function of it:
//     rebuild, verify and reading history need its start. A deployment with snapshots may lower
//     retention.ms, to more than the age of its snapshots. Timestamps are the producers' (a copy
//     into other topics keeps them, so it folds to the same bytes), but the broker refuses those
//     more than an hour ahead, because the decoder limits the event's times by the record's
//     timestamp. That setting exists since Kafka 3.6.
//   - tidemark.unread and tidemark.channels hold the newest value of each key. A reader that starts
//     at the beginning sees every key, so no value needs a minimum retention; a tombstone stays a
//     week, longer than a cache is ever down. Compaction removes an old value after a week at most,
//     which limits how long erased data remains.
//   - tidemark.receipts is kept 7 days, dead letters 30. With segments of one day these times are
//     precise to a day.
//
// With three or more replicas a write needs two in sync.
func TopicSpecs(partitions int32, replication int16) []TopicSpec {
	spec := func(name string, configs map[string]string) TopicSpec {
		configs["min.insync.replicas"] = "1"
		if replication >= 3 {
			configs["min.insync.replicas"] = "2"
		}
		return TopicSpec{Name: name, Partitions: partitions, Replication: replication, Configs: configs}
	}
	input := func(name string) TopicSpec {
		return spec(name, map[string]string{
			"cleanup.policy":                 "delete",
			"retention.ms":                   "-1",
			"retention.bytes":                "-1",
			"max.message.bytes":              strconv.Itoa(inputBatchBytes),
			"message.timestamp.type":         "CreateTime",
			"message.timestamp.after.max.ms": millis(day / 24),
		})
	}
	compacted := func(name string) TopicSpec {
		return spec(name, map[string]string{
			"cleanup.policy":            "compact",
			"delete.retention.ms":       millis(7 * day),
			"min.compaction.lag.ms":     "0",
			"max.compaction.lag.ms":     millis(7 * day),
			"min.cleanable.dirty.ratio": "0.3",
			"segment.bytes":             strconv.Itoa(256 << 20),
			"segment.ms":                millis(day),
		})
	}
	expiring := func(name string, retention int64) TopicSpec {
		return spec(name, map[string]string{
			"cleanup.policy":  "delete",
			"retention.ms":    millis(retention),
			"retention.bytes": "-1",
			"segment.ms":      millis(day),
		})
	}
	deadLetters := expiring(TopicDeadLetters, 30*day)
	deadLetters.Configs["max.message.bytes"] = strconv.Itoa(deadLetterBatchBytes)
	return []TopicSpec{
		input(TopicMessages),
		input(TopicReads),
		input(TopicDeliveries),
		compacted(TopicUnread),
		compacted(TopicChannels),
		expiring(TopicReceipts, 7*day),
		deadLetters,
	}
}

// PrefixedTopicSpecs returns TopicSpecs with a prefix before each name, as reshard creates them.
func PrefixedTopicSpecs(prefix string, partitions int32, replication int16) []TopicSpec {
	specs := TopicSpecs(partitions, replication)
	for i := range specs {
		specs[i].Name = prefix + specs[i].Name
	}
	return specs
}

func millis(ms int64) string { return strconv.FormatInt(ms, 10) }
