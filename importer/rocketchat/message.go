package rocketchat

import (
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
)

// message maps a message.
func (l *Live) message(c *change) error {
	was := l.messages[c.id]
	if c.kind == source.Removed {
		return l.removed(c, was)
	}
	e, ok := product.RocketChatPost(c.Row, c.problems)
	if !ok {
		return nil // the text before an edit
	}
	now := messageOf(c.Row)
	if was != nil && now.Updated > 0 && now.Updated < was.Updated || was == nil && l.before(c, now.Updated) {
		return nil // the dump is further
	}
	if was == nil {
		if c.kind == source.Updated && now.At < l.oldest {
			return nil // too old to be found by its id
		}
		if s := l.members[[2]string{e.Channel, e.User}]; s != nil && s.Seen > 0 && (e.Thread == "" || e.Broadcast) {
			e.Explicit = true // their pointer says what they have read
		}
		if err := c.send(&e); err != nil {
			return err
		}
	} else if err := l.changed(c, was, &e); err != nil {
		return err
	}
	if err := l.follows(c, was, now); err != nil {
		return err
	}
	if was != nil && was.Room == "" {
		return nil // it was deleted, and stays so
	}
	l.setMessage(c.id, now)
	l.remember(ofMessage, c.id, now)
	return nil
}

// changed maps a message that was written before: an edit, or a deletion.
func (l *Live) changed(c *change, was *message, e *importer.Event) error {
	switch {
	case e.Until > 0 && was.Room != "":
		return c.send(&importer.Event{Kind: importer.KindDelete, Channel: e.Channel, ID: e.ID, At: e.Until})
	case c.Text("t") == "rm" && was.Plain:
		c.problems.Add(c.origin(), "a message with replies was deleted: it counts until it is read, because its deletion would end the thread", c.id)
		return nil
	case e.Until == 0 && e.Channel == was.Room && millis(c.Row, "editedAt") > 0 && !e.Silent:
		e.Kind, e.At = importer.KindEdit, max(millis(c.Row, "editedAt"), 1)
		return c.send(e)
	}
	return nil
}

// removed maps a message whose document is gone.
func (l *Live) removed(c *change, was *message) error {
	if was == nil && l.before(c, c.commit) {
		return nil
	}
	if was == nil {
		c.problems.Add(c.origin(), "a message was removed that neither the dump nor a change of the last 97 days has shown: it stays", c.id)
		return nil
	}
	if was.Room == "" {
		return nil
	}
	gone := &message{At: was.At}
	l.setMessage(c.id, &message{Room: was.Room, At: was.At}) // nobody's pointer is at it any more
	l.messages[c.id] = gone
	l.remember(ofMessage, c.id, gone)
	return c.send(&importer.Event{Kind: importer.KindDelete, Channel: was.Room, ID: c.id, At: max(c.commit, was.At)})
}

// follows maps who follows the thread of a root, which lists them. Who follows with a reply does so
// from that reply on.
func (l *Live) follows(c *change, was, now *message) error {
	at := c.commit
	var before []string
	if was != nil {
		before = was.Followers
		if now.Last > was.Last {
			at = now.Last - 1
		}
	} else if now.Last > 0 {
		at = now.Last - 1
	}
	for _, user := range now.Followers {
		if !slices.Contains(before, user) {
			if err := c.send(&importer.Event{Kind: importer.KindFollow, Channel: now.Room, User: user, Thread: c.id, At: at}); err != nil {
				return err
			}
		}
	}
	for _, user := range before {
		if !slices.Contains(now.Followers, user) {
			if err := c.send(&importer.Event{Kind: importer.KindUnfollow, Channel: now.Room, User: user, Thread: c.id, At: max(c.commit, now.Last)}); err != nil {
				return err
			}
		}
	}
	return nil
}
