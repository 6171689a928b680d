package gateway

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/reads"
	"github.com/tidemark/tidemark/internal/guard"
)

// handle executes a client's frame, and answers it if it has an id.
func (g *Gateway) handle(c *conn, body []byte) {
	g.metrics.commands.Inc()
	var cmd frames.Command
	err := guard.Err("the handling of a frame", func() (err error) {
		if cmd, err = frames.Parse(body); err != nil {
			return err
		}
		g.plant("frame")
		return g.do(c, &cmd)
	})
	if guard.Of(err) != nil {
		g.cfg.Logger.ErrorContext(c.Context(), "a frame is answered with an error", append(guard.Attrs(err), "instance", c.Instance)...)
	}
	if err != nil {
		c.SendNow(frames.Failure(cmd.ID, err))
	}
}

// do executes a command. It answers a command that becomes an event when the event is acknowledged,
// and any other at once.
func (g *Gateway) do(c *conn, cmd *frames.Command) error {
	switch cmd.Type {
	case "auth":
		return frames.Refuse(frames.Invalid, "auth: this connection has a user; connect again for another user")
	case "sync":
		c.user.hub.mu.With(func() {
			g.metrics.shown.Judge(c.Instance, cmd.Shown, c.user.totals.Badge, !c.loading && c.Settled())
			c.reload()
		})
		c.answer(cmd, nil)
		return nil
	case "channel.focus", "channel.blur", "read_state":
	default:
		if !reads.Types[cmd.Type] {
			return frames.Refuse(frames.Invalid, "there is no frame type %.40q", cmd.Type)
		}
	}
	if err := frames.Need("channel_id", cmd.ChannelID); err != nil {
		return err
	}
	switch cmd.Type {
	case "channel.focus":
		return g.focus(c, cmd)
	case "channel.blur":
		c.user.hub.mu.With(func() { delete(c.focused, scope{cmd.ChannelID, cmd.ThreadID}) })
		c.answer(cmd, nil)
		return nil
	case "read_state":
		if err := g.member(c, cmd.ChannelID); err != nil {
			return err
		}
		g.readState(c, *cmd)
		return nil
	}
	err := g.write(c, cmd)
	if err != nil {
		g.door.NoteEvent(c.Context(), c.bearer, c.user.id, c.remote, err)
	}
	return err
}

// answer acknowledges a command, if it has an id.
func (c *conn) answer(cmd *frames.Command, after []string) {
	if len(cmd.ID) > 0 {
		c.SendNow(frames.Ack(cmd.ID, after))
	}
}

func (g *Gateway) focus(c *conn, cmd *frames.Command) error {
	c.user.hub.mu.Lock()
	defer c.user.hub.mu.Unlock()
	e := c.user.entries[cmd.ChannelID]
	if e == nil || e.ch == nil {
		return notMember(cmd.ChannelID)
	}
	s := scope{cmd.ChannelID, cmd.ThreadID}
	if _, there := c.focused[s]; !there && len(c.focused) >= g.cfg.Limits.Focused {
		return frames.Refuse(frames.Exhausted, "%d channels are focused, which is the limit: blur one first", g.cfg.Limits.Focused)
	}
	if c.focused == nil {
		c.focused = map[scope]uint32{}
	}
	g.plant("focus")
	c.focused[s] = c.user.epoch(s)
	if s.thread == "" && e.view.Flagged() {
		g.seeFlagged(c, e, cmd)
		return nil
	}
	c.answer(cmd, nil)
	return nil
}

// seeFlagged removes the flag of a channel that the user looks at: with a read up to its head, or
// if it has no head, with an event that clears the flag. Called with the lock.
func (g *Gateway) seeFlagged(c *conn, e *entry, cmd *frames.Command) {
	ev := g.readEvent(c.user.id, cmd.ChannelID, c.Instance)
	head := max(e.pushed, e.view.Latest.Seq)
	if e.ch.Record != nil {
		head = max(head, e.ch.Record.HeadSeq)
	}
	if head > 0 {
		ev.Kind = &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{
			Target: &eventsv1.ReadUpTo_Seq{Seq: head}, ReadEpoch: c.user.epoch(scope{channel: cmd.ChannelID}),
		}}
	} else {
		ev.Kind = &eventsv1.ReadEvent_FlagSet{FlagSet: &eventsv1.FlagSet{}}
	}
	events.StateVersion(ev)
	u, done, answer := c.user, e.unsettle(), *cmd
	g.produce(c.Context(), g.cfg.Topics.Reads, cmd.ChannelID, ev, func(token string, offset int64, err error) {
		u.hub.mu.With(func() { done(offset, err) })
		if err != nil {
			c.SendNow(frames.Failure(answer.ID, err))
			return
		}
		c.answer(&answer, []string{token})
	})
}

// write turns a command into an event of chat.reads.
func (g *Gateway) write(c *conn, cmd *frames.Command) error {
	u := c.user
	ev := g.readEvent(u.id, cmd.ChannelID, c.Instance)
	if err := reads.Fill(ev, cmd, g.cfg.Limits.MessageIDs, u.newest(cmd.ChannelID)); err != nil {
		return err
	}
	public := cmd.Type == "mark_read" && !cmd.Private
	// A read that names the message of the pointer may be dropped, as it changes nothing. This does
	// not apply to a read with threads, which may have unread replies.
	may := public && !cmd.WithThreads && cmd.MessageID != ""
	where := scope{cmd.ChannelID, cmd.ThreadID}
	var e *entry
	var done func(offset int64, err error)
	member := false
	u.hub.mu.With(func() {
		if e = u.entries[cmd.ChannelID]; e == nil || e.ch == nil {
			return
		}
		member = true
		// The user's pointer may come from a private read, which does not count as a public one
		// (DESIGN §4.5). So this gateway must have written the public read itself.
		if may && !e.view.Flagged() && u.settled(e, cmd.ThreadID) && u.last(e, where).ID == cmd.MessageID && *u.publicRead(e, where) == cmd.MessageID {
			return
		}
		done = e.unsettle()
	})
	switch {
	case !member:
		return notMember(cmd.ChannelID)
	case done == nil: // the pointer is already there
		g.metrics.unchanged.Inc()
		c.answer(cmd, nil)
		return nil
	}
	answer, bearer := *cmd, c.bearer
	g.produce(c.Context(), g.cfg.Topics.Reads, cmd.ChannelID, ev, func(token string, offset int64, err error) {
		g.door.NoteEvent(c.Context(), bearer, u.id, c.remote, err)
		u.hub.mu.With(func() {
			done(offset, err)
			if public && err == nil {
				*u.publicRead(e, where) = answer.MessageID
			}
		})
		if err != nil {
			c.SendNow(frames.Failure(answer.ID, err))
			return
		}
		c.answer(&answer, []string{token})
	})
	return nil
}
