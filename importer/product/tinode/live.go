package tinode

import (
	"context"
	"strings"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/product/internal/change"
	"github.com/tidemark/tidemark/importer/source"
)

// Transaction maps a transaction.
func (l *Live) Transaction(ctx context.Context, tx *source.Transaction, p *importer.Problems, emit product.Emit) error {
	for i := range tx.Changes {
		x := &tx.Changes[i]
		c := &change.Change{Row: x.Row, Ctx: ctx, Kind: x.Kind, Commit: tx.Time.UnixMilli(), Problems: p, Emit: emit}
		var err error
		switch c.Table {
		case "topics":
			err = l.topic(c)
		case "subscriptions":
			err = l.subscription(c)
		case "messages":
			err = l.message(c)
		case "dellog":
			err = l.hidden(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// topic maps the end of a topic: its state, or the removal of its row.
func (l *Live) topic(c *change.Change) error {
	e, ended := product.TinodeTopicDeleted(c.Row, c.Problems)
	if c.Kind == source.Removed {
		e, ended = importer.Event{Kind: importer.KindChannelDeleted, Channel: c.Text("name"), At: c.Commit}, true
	}
	if !ended || l.ended[e.Channel] {
		return nil
	}
	product.Keep(l.ended, e.Channel, true)
	return c.Send(&e)
}

// subscription maps a user's membership, pointer and mute in a topic.
func (l *Live) subscription(c *change.Change) error {
	topic := groupOf(c.Text("topic"))
	row := source.NewRow(c.Table, c.Number, "topic", topic, "userid", c.Text("userid"), "updatedat", c.Text("updatedat"),
		"deletedat", c.Text("deletedat"), "createdat", c.Text("createdat"), "modewant", c.Text("modewant"))
	at := [2]string{topic, c.Text("userid")}
	was, known := l.subscriptions[at]
	is := subscription{read: c.Text("readseqid")}
	e, _ := product.TinodeMember(row, c.Problems)
	is.member = c.Kind != source.Removed && e.Until == 0
	if is.member != was.member || !known {
		if e.At, e.Direct = c.Commit, direct(topic); !is.member {
			e.Kind, e.Until = importer.KindLeave, 0
		}
		if err := c.Send(&e); err != nil {
			return err
		}
	}
	if is.member && is.read != "" && is.read != "0" && (is.read != was.read || !known || !was.member) {
		if err := l.pointer(c, topic, was.read, is.read); err != nil {
			return err
		}
	}
	mute, muted := product.TinodeMute(row, c.Problems)
	is.muted = muted && is.member
	if mute.At = c.Commit; is.muted != was.muted || !known {
		if !is.muted {
			mute.Kind = importer.KindUnmute
		}
		if err := c.Send(&mute); err != nil {
			return err
		}
	}
	product.Keep(l.subscriptions, at, is)
	return nil
}

// message maps a message: a new one, or a deletion. An edit is a message of its own in Tinode.
func (l *Live) message(c *change.Change) error {
	row := c.Row
	if c.Kind == source.Removed {
		return c.Send(&importer.Event{Kind: importer.KindDelete, Channel: row.Text("topic"), ID: row.Text("seqid"), At: c.Commit})
	}
	e, _ := product.TinodePost(row.With("at", row.Text("createdat")).With("missing", "f"), c.Problems)
	if c.Kind == source.Inserted {
		e.Explicit = true // the author's pointer follows
		return c.Send(&e)
	}
	if e.Until == 0 {
		return nil
	}
	return c.Send(&importer.Event{Kind: importer.KindDelete, Channel: e.Channel, ID: e.ID, At: e.Until})
}

// groupOf returns the topic of a subscription: users who read a group as a channel have another
// name for it.
func groupOf(topic string) string {
	if name, is := strings.CutPrefix(topic, "chn"); is {
		return "grp" + name
	}
	return topic
}

// direct reports whether a topic is one whose members count all of it.
func direct(topic string) bool {
	return strings.HasPrefix(topic, "p2p") || strings.HasPrefix(topic, "slf")
}
