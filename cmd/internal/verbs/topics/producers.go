package topics

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
)

// newestRecords is the approximate number of records to check in a topic.
const newestRecords = 2000

// StrangersInfo is the result of checking the partitions of an input's newest records.
type StrangersInfo struct {
	Topic     string `json:"topic"`
	Looked    int    `json:"looked"`  // checked records
	Wrong     int    `json:"wrong"`   // of those, the records in a partition where their channel does not belong
	Example   string `json:"example"` // the newest of these, partition/offset
	LooksLike string `json:"looks_like"`
	Do        string `json:"do"`
}

// String is the finding as a sentence with the way out.
func (s StrangersInfo) String() string {
	return fmt.Sprintf("%s: %d of the newest %d records are in a partition where their channel does not belong, such as %s; their partitions are those that %s chooses: %s",
		s.Topic, s.Wrong, s.Looked, s.Example, s.LooksLike, s.Do)
}

// strangers returns the inputs with records in wrong partitions among the newest. Records that are
// no events are left to the dead letters.
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
				return nil //nolint:nilerr // no event, so it has no channel
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
