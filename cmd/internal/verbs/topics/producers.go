package topics

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
)

// newestRecords is about how many records of a topic are checked.
const newestRecords = 2000

// StrangersInfo is the result of checking the partitions of an input's newest records.
type StrangersInfo struct {
	Topic     string `json:"topic"`
	Looked    int    `json:"looked"`  // records that were looked at
	Wrong     int    `json:"wrong"`   // of those, in a partition where their channel does not belong
	Example   string `json:"example"` // the newest of them, partition/offset
	LooksLike string `json:"looks_like"`
	Do        string `json:"do"`
}

// String is the finding in a sentence with the way out.
func (s StrangersInfo) String() string {
	return fmt.Sprintf("%s: %d of the newest %d records are in a partition where their channel does not belong, such as %s; their place is that of %s: %s",
		s.Topic, s.Wrong, s.Looked, s.Example, s.LooksLike, s.Do)
}

// strangers are the inputs that have records in wrong partitions among the newest. What is no event
// is for the dead letters.
func (c *checkCmd) strangers(a *verbs.App, adm *kadm.Client) ([]StrangersInfo, error) {
	found := []StrangersInfo{}
	for _, topic := range c.Topics().Inputs {
		spans, err := verbs.SpansOf(a.Ctx, adm, topic)
		if err != nil {
			return nil, err
		}
		n := int32(len(spans))
		for i := range spans {
			spans[i].From = max(spans[i].From, spans[i].To-max(1, newestRecords/int64(n)))
		}
		info := StrangersInfo{Topic: topic}
		var check letters.Checker
		var wrong events.Strangers
		if err := verbs.ReadSpans(a, c.BrokersFlags, topic, spans, func(r *kgo.Record) error {
			channel, err := check.Check(topic, r.Value)
			if err != nil {
				return nil //nolint:nilerr // no event: it has no channel
			}
			info.Looked++
			if events.PartitionOf(channel, n) != r.Partition {
				wrong.Add(r.Key, r.Partition, n)
				info.Wrong++
				info.Example = fmt.Sprintf("%d/%d", r.Partition, r.Offset)
			}
			return nil
		}); err != nil {
			return nil, err
		}
		if info.Wrong > 0 {
			by := wrong.LookLike()
			info.LooksLike, info.Do = by.String(), by.Do()
			found = append(found, info)
		}
	}
	return found, nil
}
