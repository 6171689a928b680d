package model

import "github.com/tidemark/tidemark/events"

// sinceErased returns the records of chat.reads after the last one that erased the user in the
// channel, or all of them if there is none.
func (m *Model) sinceErased(user, channelID string) []readRecord {
	from := 0
	for i := range m.reads {
		e := &m.reads[i].event
		if e.Kind == events.KindUserErased && string(e.UserID) == user && string(e.ChannelID) == channelID {
			from = i + 1
		}
	}
	return m.reads[from:]
}
