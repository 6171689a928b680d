package gateway

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// position returns the position that the tokens of an as_of state.
func (g *Gateway) position(asOf []string) view.Position {
	t := &g.cfg.Topics
	return view.PositionOf(t.Messages, t.Reads, t.Deliveries, asOf)
}

// tokens returns the tokens of a position, for the field after of a request.
func (g *Gateway) tokens(at view.Position) (after []string) {
	for p, s := range at {
		after = g.passed(after, p, s.M)
	}
	return after
}

// passed appends the token of the last event of chat.messages before an offset.
func (g *Gateway) passed(after []string, p int32, next int64) []string {
	if next == 0 {
		return after
	}
	return append(after, events.RecordID{Topic: g.cfg.Topics.Messages, Partition: p, Offset: next - 1}.String())
}

// stampAt returns the stamp of a channel that was read at a position.
func (g *Gateway) stampAt(at view.Position, channel string) events.Stamp {
	s := at[events.PartitionOf([]byte(channel), g.cfg.Partitions)]
	s.FoldVersion = view.OfInbox
	return s
}
