package rocketchat

import (
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// subscription maps the subscription of a user to a room.
func (l *Live) subscription(c *change) error {
	was := l.subscriptions[c.id]
	if c.kind == source.Removed {
		return l.left(c, was)
	}
	now := subscriptionOf(c.Row)
	now.Direct = c.Text("t") == "d"
	if was != nil && now.Updated > 0 && now.Updated < was.Updated || was == nil && l.before(c, now.Updated) {
		return nil // the dump is further
	}
	if was == nil {
		member := &importer.Event{Kind: importer.KindMember, Channel: now.Room, User: now.User, At: max(millis(c.Row, "ts"), 1), Direct: now.Direct}
		if err := c.send(member); err != nil {
			return err
		}
		was = &subscription{}
	}
	if err := l.viewed(c, was, now); err != nil {
		return err
	}
	if err := l.threads(c, was, now); err != nil {
		return err
	}
	if now.Muted != was.Muted {
		e := &importer.Event{Kind: importer.KindUnmute, Channel: now.Room, User: now.User, At: max(now.Updated, c.commit)}
		if now.Muted {
			e.Kind = importer.KindMute
		}
		if err := c.send(e); err != nil {
			return err
		}
	}
	l.setSubscription(c.id, now)
	l.remember(ofSubscription, c.id, now)
	return nil
}

// left maps a subscription that is gone: the user has left the room.
func (l *Live) left(c *change, was *subscription) error {
	if was == nil && l.before(c, c.commit) {
		return nil
	}
	if was == nil {
		c.problems.Add(c.origin(), "a subscription was removed that neither the dump nor a change has shown: its member stays", c.id)
		return nil
	}
	l.dropSubscription(c.id)
	l.remember(ofSubscription, c.id, &subscription{})
	if was.Muted { // one who comes back has a new subscription
		if err := c.send(&importer.Event{Kind: importer.KindUnmute, Channel: was.Room, User: was.User, At: c.commit}); err != nil {
			return err
		}
	}
	return c.send(&importer.Event{Kind: importer.KindLeave, Channel: was.Room, User: was.User, At: c.commit})
}

// viewed maps how far the user has viewed the room. Who marks a message as unread has their pointer
// at it, and the server alerts them.
func (l *Live) viewed(c *change, was, now *subscription) error {
	next := ""
	if id := l.at[moment(now.Room, now.Seen)]; id != "" && c.Text("alert") == "true" && l.messages[id].User != now.User {
		now.Seen, next = now.Seen-1, id
	}
	if now.Set = was.Set; now.Seen == was.Seen {
		return nil
	}
	if now.Seen < was.Seen && next == "" {
		c.problems.Add(c.origin(), "a pointer went back to a message that neither the dump nor a change has shown: left as it was", c.id)
		now.Seen = was.Seen
		return nil
	}
	now.Set = max(now.Seen, now.Updated, was.Set+1)
	return c.send(&importer.Event{Kind: importer.KindPointer, Channel: now.Room, User: now.User, At: now.Seen, Until: now.Set, Next: next})
}

// threads maps the threads that have nothing unread any more.
func (l *Live) threads(c *change, was, now *subscription) error {
	for _, root := range was.Threads {
		if slices.Contains(now.Threads, root) {
			continue
		}
		at := max(now.Updated, c.commit)
		if x := l.messages[root]; x != nil {
			at = max(at, x.Last)
		}
		if err := c.send(&importer.Event{Kind: importer.KindPointer, Channel: now.Room, User: now.User, Thread: root, At: at, Until: at}); err != nil {
			return err
		}
	}
	return nil
}
