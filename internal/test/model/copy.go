package model

import (
	"bytes"
	"slices"

	"github.com/tidemark/tidemark/events"
)

// An event borrows its bytes from the decoder, so the model keeps copies.

func copyMessage(e *events.Message) events.Message {
	c := *e
	c.ChannelID = bytes.Clone(e.ChannelID)
	c.MessageID = bytes.Clone(e.MessageID)
	c.SenderID = bytes.Clone(e.SenderID)
	c.Preview = bytes.Clone(e.Preview)
	c.ThreadID = bytes.Clone(e.ThreadID)
	c.IDs = copyIDs(e.IDs)
	c.HiddenFrom = copyIDs(e.HiddenFrom)
	return c
}

func copyRead(e *events.Read) events.Read {
	c := *e
	c.ChannelID = bytes.Clone(e.ChannelID)
	c.UserID = bytes.Clone(e.UserID)
	c.InstanceID = bytes.Clone(e.InstanceID)
	c.MessageID = bytes.Clone(e.MessageID)
	c.ThreadID = bytes.Clone(e.ThreadID)
	c.HeadMessageID = bytes.Clone(e.HeadMessageID)
	c.IDs = copyIDs(e.IDs)
	return c
}

func copyDelivery(e *events.Delivery) events.Delivery {
	c := *e
	c.ChannelID = bytes.Clone(e.ChannelID)
	c.UserID = bytes.Clone(e.UserID)
	c.MessageID = bytes.Clone(e.MessageID)
	c.UpToID = bytes.Clone(e.UpToID)
	c.DeviceID = bytes.Clone(e.DeviceID)
	return c
}

func copyIDs(ids [][]byte) [][]byte {
	out := make([][]byte, len(ids))
	for i, id := range ids {
		out[i] = bytes.Clone(id)
	}
	return out
}

func distinct(ids [][]byte) []string {
	var out []string
	for _, id := range ids {
		if len(id) > 0 {
			out = append(out, string(id))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
