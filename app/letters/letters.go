// Package letters reads dead letters (DESIGN §3): copies of bad records, with their reason and
// place. It also makes the record that writes one to its topic again.
package letters

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/obs/codes"
	"github.com/tidemark/tidemark/processor"
)

// Letter is a dead letter.
type Letter struct {
	Partition int32     `json:"partition"` // its place in the dead letters
	Offset    int64     `json:"offset"`
	Written   time.Time `json:"written"`
	Reason    string    `json:"reason"`
	Code      string    `json:"code,omitempty"` // of the reason, see package codes
	Detail    string    `json:"detail"`
	Topic     string    `json:"topic"` // where it came from
	From      string    `json:"from"`  // partition/offset in that topic
	Key       string    `json:"key"`
	Bytes     int       `json:"bytes"`
	LeftOut   string    `json:"left_out,omitempty"` // the part that was too large to copy

	Record *kgo.Record `json:"-"`
	At     time.Time   `json:"-"` // the record's own timestamp; zero if unknown
}

// Of reads the headers of a dead letter. Missing ones stay empty.
func Of(r *kgo.Record) Letter {
	l := Letter{
		Partition: r.Partition, Offset: r.Offset, Written: r.Timestamp.UTC(), Key: string(r.Key), Bytes: len(r.Value), Record: r,
	}
	var partition, offset string
	for _, h := range r.Headers {
		v := string(h.Value)
		switch h.Key {
		case processor.HeaderTopic:
			l.Topic = v
		case processor.HeaderPartition:
			partition = v
		case processor.HeaderOffset:
			offset = v
		case processor.HeaderReason:
			l.Reason, l.Code = v, codes.OfLetter(v)
		case processor.HeaderDetail:
			l.Detail = strings.TrimPrefix(v, "bad event: ")
		case processor.HeaderLeftOut:
			l.LeftOut = v
		case processor.HeaderTimestamp:
			if ms, err := strconv.ParseInt(v, 10, 64); err == nil {
				l.At = time.UnixMilli(ms)
			}
		}
	}
	l.From = partition + "/" + offset
	return l
}

// added are the headers that the processor adds.
var added = []string{
	processor.HeaderTopic, processor.HeaderPartition, processor.HeaderOffset, processor.HeaderReason,
	processor.HeaderDetail, processor.HeaderTimestamp, processor.HeaderLeftOut,
}

// Origin is the place of the original record, topic/partition/offset.
func (l *Letter) Origin() string { return l.Topic + "/" + l.From }

// Place is the place of the letter, partition/offset.
func (l *Letter) Place() string { return fmt.Sprintf("%d/%d", l.Partition, l.Offset) }

// ToWrite returns the record to write. Its key is the channel of the event, because a wrong key is
// a reason for a dead letter. With force it also returns one for a value that this build would
// refuse again. An incomplete copy has none.
func (l *Letter) ToWrite(check *Checker, force bool) (*kgo.Record, error) {
	if events.Unprefixed(l.Topic, events.InputTopics[:]...) == "" {
		return nil, fmt.Errorf("its header names topic %q, which is not an input", l.Topic)
	}
	if l.LeftOut != "" {
		return nil, fmt.Errorf("it does not include %s, which is too large: the record itself is at %s", l.LeftOut, l.Origin())
	}
	r := &kgo.Record{Topic: l.Topic, Key: l.Record.Key, Value: l.Record.Value, Timestamp: l.At}
	for _, h := range l.Record.Headers {
		if !slices.Contains(added, h.Key) {
			r.Headers = append(r.Headers, h)
		}
	}
	channel, err := check.Check(l.Topic, l.Record.Value)
	switch {
	case err == nil:
		r.Key = channel
	case !force:
		return nil, err
	}
	return r, nil
}

// Checker checks values like the processor. The zero value works; it is not safe for concurrent
// use.
type Checker struct {
	decoder  events.Decoder
	message  events.Message
	read     events.Read
	delivery events.Delivery
}

// Check returns the channel of an input's value, or the reason why the processor would refuse it.
// The topic's name may have a prefix.
func (c *Checker) Check(topic string, value []byte) ([]byte, error) {
	now := time.Now().UnixMilli()
	var channel []byte
	var err error
	switch events.Unprefixed(topic, events.InputTopics[:]...) {
	case events.TopicMessages:
		err = c.decoder.Message(value, now, &c.message)
		channel = c.message.ChannelID
	case events.TopicReads:
		err = c.decoder.Read(value, now, &c.read)
		channel = c.read.ChannelID
	default:
		err = c.decoder.Delivery(value, now, &c.delivery)
		channel = c.delivery.ChannelID
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(channel), nil
}
