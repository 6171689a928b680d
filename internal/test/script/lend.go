package script

import (
	"bytes"
	"slices"

	"github.com/tidemark/tidemark/events"
)

// loan is memory that an event may use during one call.
type loan [][]byte

func (l *loan) of(b []byte) []byte {
	if b == nil {
		return nil
	}
	c := bytes.Clone(b)
	*l = append(*l, c)
	return c
}

func (l *loan) each(list [][]byte) [][]byte {
	out := slices.Clone(list)
	for i := range out {
		out[i] = l.of(out[i])
	}
	return out
}

func (l *loan) message(e events.Message) *events.Message {
	e.ChannelID, e.MessageID, e.SenderID = l.of(e.ChannelID), l.of(e.MessageID), l.of(e.SenderID)
	e.Preview, e.ThreadID, e.IDs = l.of(e.Preview), l.of(e.ThreadID), l.each(e.IDs)
	e.HiddenFrom = l.each(e.HiddenFrom)
	return &e
}

func (l *loan) read(e events.Read) *events.Read {
	e.ChannelID, e.UserID, e.InstanceID = l.of(e.ChannelID), l.of(e.UserID), l.of(e.InstanceID)
	e.MessageID, e.ThreadID, e.HeadMessageID = l.of(e.MessageID), l.of(e.ThreadID), l.of(e.HeadMessageID)
	e.IDs = l.each(e.IDs)
	return &e
}

func (l *loan) delivery(e events.Delivery) *events.Delivery {
	e.ChannelID, e.UserID, e.DeviceID = l.of(e.ChannelID), l.of(e.UserID), l.of(e.DeviceID)
	e.MessageID, e.UpToID = l.of(e.MessageID), l.of(e.UpToID)
	return &e
}

// spoil overwrites the memory.
func (l *loan) spoil() {
	for _, b := range *l {
		for i := range b {
			b[i] = '~'
		}
	}
}
