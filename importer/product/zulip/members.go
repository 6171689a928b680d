package zulip

import (
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/product/internal/change"
	"github.com/tidemark/tidemark/importer/source"
)

// The types of recipients.
const (
	toUser  = "1"
	toGroup = "3"
)

// stream maps the end of a stream.
func (l *Live) stream(c *change.Change) error {
	channel := c.Text("recipient_id")
	if c.Kind == source.Removed || c.Text("deactivated") != "t" && c.Text("deactivated") != "true" || l.ended[channel] {
		return nil
	}
	product.Keep(l.ended, channel, true)
	return c.Send(&importer.Event{Kind: importer.KindChannelDeleted, Channel: channel, At: c.Commit})
}

// subscription maps a user's membership and mute. Each user also has a subscription to themselves,
// which is no channel.
func (l *Live) subscription(c *change.Change) error {
	channel, user := c.Text("recipient_id"), c.Text("user_profile_id")
	if c.Kind == source.Removed || channel == "" || user == "" {
		return nil // Zulip removes only those of a removed organization
	}
	kind, known := l.kinds[channel]
	if !known {
		err := l.rows(c.Ctx, "zerver_recipient", "SELECT type FROM zerver_recipient WHERE id::text = "+product.Literal(channel), func(row *source.Row) error {
			kind = row.Text("type")
			return nil
		})
		if err != nil {
			return err
		}
		product.Keep(l.kinds, channel, kind)
	}
	if kind == "" || kind == toUser {
		return nil
	}
	at := [2]string{channel, user}
	was, known := l.members[at]
	is := member{active: yes(c.Text("active"))}
	is.muted = is.active && yes(c.Text("is_muted"))
	product.Keep(l.members, at, is)
	if !known || is.active != was.active {
		e := &importer.Event{Kind: importer.KindLeave, Channel: channel, User: user, At: c.Commit}
		if is.active {
			e.Kind, e.Direct = importer.KindMember, kind == toGroup
		}
		if err := c.Send(e); err != nil {
			return err
		}
	}
	if known && is.muted == was.muted {
		return nil
	}
	e := &importer.Event{Kind: importer.KindUnmute, Channel: channel, User: user, At: c.Commit}
	if is.muted {
		e.Kind = importer.KindMute
	}
	return c.Send(e)
}

func yes(text string) bool { return text == "t" || text == "true" }
