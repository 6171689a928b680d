package checker

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
)

// viewer is a user and a message of a channel.
type viewer struct {
	channel, user string
	seq           uint32
}

// ApplyReceipts takes a value of tidemark.receipts. Views are independent of each other, so a
// reader keeps the earliest of each.
func (m *Mirror) ApplyReceipts(value []byte) error {
	var r events.ReceiptsRecord
	if err := events.DecodeReceiptsRecord(slices.Clone(value), &r); err != nil {
		return err
	}
	if m.viewed == nil {
		m.viewed = map[viewer]int64{}
	}
	for _, x := range r.Viewed {
		at := viewer{string(r.ChannelID), string(x.UserID), x.Seq}
		if was, ok := m.viewed[at]; !ok || x.At < was {
			m.viewed[at] = x.At
		}
	}
	return nil
}

// CheckViewed checks that the views read are those of the models, with the time of the first. No
// record makes a reader forget the views of erased users and of deleted channels.
func (m *Mirror) CheckViewed(models []*model.Model) *Findings {
	f := &Findings{What: "the views in tidemark.receipts against the model"}
	for _, of := range models {
		right := map[viewer]bool{}
		for _, channel := range of.Channels() {
			for _, v := range of.Views(channel) {
				x := viewer{channel, v.UserID, v.Seq}
				right[x] = true
				if at, known := m.viewed[x]; !known {
					f.Add("%s, message %d: %s viewed it at %s, which nothing tells", channel, v.Seq, v.UserID, script.FormatTime(v.At))
				} else if max(at, v.Posted) != v.At {
					f.Add("%s, message %d: %s is told to have viewed it at %s, but that was at %s", channel, v.Seq, v.UserID, script.FormatTime(at), script.FormatTime(v.At))
				}
			}
		}
		for x := range m.viewed {
			if _, known := of.Channel(x.channel); known && !right[x] && !of.Erased(x.user, x.channel) {
				f.Add("%s, message %d: %s is told to have viewed it, and did not", x.channel, x.seq, x.user)
			}
		}
	}
	return f
}
