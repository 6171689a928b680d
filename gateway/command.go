package gateway

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// handle does what a client's frame asks for, and answers it if it has an id.
func (g *Gateway) handle(c *conn, body []byte) {
	g.metrics.commands.Inc()
	cmd, err := parse(body)
	if err == nil {
		err = g.do(c, &cmd)
	}
	if err != nil {
		c.sendNow(errorFrame(cmd.ID, err))
	}
}

// do does a command. Those that become events are answered when these are acknowledged, all others at once.
func (g *Gateway) do(c *conn, cmd *command) error {
	switch cmd.Type {
	case "":
		return refuse(codeInvalid, "type is missing")
	case "auth":
		return refuse(codeInvalid, "auth: this connection has a user; connect again to be somebody else")
	case "sync":
		g.hub.mu.Lock()
		g.reloadConn(c)
		g.hub.mu.Unlock()
		c.answer(cmd, nil)
		return nil
	case "channel.focus", "channel.blur", "mark_read", "mark_unread", "messages_read", "thread.follow", "thread.unfollow",
		"channel.mute", "read_state":
	default:
		return refuse(codeInvalid, "there is no frame type %.40q", cmd.Type)
	}
	if err := need("channel_id", cmd.ChannelID); err != nil {
		return err
	}
	switch cmd.Type {
	case "channel.focus":
		return g.focus(c, cmd)
	case "channel.blur":
		g.hub.mu.Lock()
		delete(c.focused, scope{cmd.ChannelID, cmd.ThreadID})
		g.hub.mu.Unlock()
		c.answer(cmd, nil)
		return nil
	case "read_state":
		if err := g.member(c, cmd.ChannelID); err != nil {
			return err
		}
		g.readState(c, *cmd)
		return nil
	}
	return g.write(c, cmd)
}

// answer acknowledges a command, if it asked for that.
func (c *conn) answer(cmd *command, after []string) {
	if len(cmd.ID) > 0 {
		c.sendNow(ackFrame(cmd.ID, after))
	}
}

// notMember is what a user is told of every channel that is not his, whether or not it exists.
func notMember(channelID string) error {
	return refuse(codeNotFound, "channel_id %q: no such channel, or it was deleted", channelID)
}

// member checks that the user is a member now, as far as fold and timeline have said.
func (g *Gateway) member(c *conn, channelID string) error {
	g.hub.mu.Lock()
	defer g.hub.mu.Unlock()
	if e := c.user.entries[channelID]; e == nil || e.ch == nil {
		return notMember(channelID)
	}
	return nil
}

func (g *Gateway) focus(c *conn, cmd *command) error {
	g.hub.mu.Lock()
	defer g.hub.mu.Unlock()
	e := c.user.entries[cmd.ChannelID]
	if e == nil || e.ch == nil {
		return notMember(cmd.ChannelID)
	}
	s := scope{cmd.ChannelID, cmd.ThreadID}
	if _, there := c.focused[s]; !there && len(c.focused) >= g.cfg.Limits.Focused {
		return refuse(codeExhausted, "%d channels are focused, which is the limit: blur one", g.cfg.Limits.Focused)
	}
	if c.focused == nil {
		c.focused = map[scope]uint32{}
	}
	c.focused[s] = c.user.epoch(s)
	c.answer(cmd, nil)
	return nil
}

// epoch is the read epoch of a scope that is known. Called with the lock.
func (u *user) epoch(s scope) uint32 {
	if s.thread != "" {
		if t := u.threads[s]; t != nil {
			return max(t.view.epoch, 1)
		}
		return 1
	}
	if e := u.entries[s.channel]; e != nil {
		return max(e.view.epoch, 1)
	}
	return 1
}

// write turns a command into an event of chat.reads.
func (g *Gateway) write(c *conn, cmd *command) error {
	ev := g.readEvent(c.user.id, cmd.ChannelID, c.instance)
	switch cmd.Type {
	case "mark_read":
		if err := need("message_id", cmd.MessageID); err != nil {
			return err
		}
		ev.Kind = &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{
			Target: &eventsv1.ReadUpTo_MessageId{MessageId: cmd.MessageID}, ThreadId: cmd.ThreadID, Private: cmd.Private,
		}}
	case "mark_unread":
		if err := need("message_id", cmd.MessageID); err != nil {
			return err
		}
		ev.Kind = &eventsv1.ReadEvent_MarkedUnread{MarkedUnread: &eventsv1.MarkedUnread{
			MessageId: cmd.MessageID, ThreadId: cmd.ThreadID, HeadSeq: cmd.HeadSeq,
		}}
	case "messages_read":
		if err := checkIDs(cmd.MessageIDs, g.cfg.Limits.MessageIDs); err != nil {
			return err
		}
		ev.Kind = &eventsv1.ReadEvent_MessagesRead{MessagesRead: &eventsv1.MessagesRead{
			MessageIds: cmd.MessageIDs, Private: cmd.Private, ThreadId: cmd.ThreadID,
		}}
	case "thread.follow", "thread.unfollow":
		if err := need("thread_id", cmd.ThreadID); err != nil {
			return err
		}
		if cmd.Type == "thread.follow" {
			ev.Kind = &eventsv1.ReadEvent_ThreadFollowed{ThreadFollowed: &eventsv1.ThreadFollowed{ThreadId: cmd.ThreadID}}
		} else {
			ev.Kind = &eventsv1.ReadEvent_ThreadUnfollowed{ThreadUnfollowed: &eventsv1.ThreadUnfollowed{ThreadId: cmd.ThreadID}}
		}
	case "channel.mute":
		if cmd.Muted == nil {
			return refuse(codeInvalid, "muted is missing")
		}
		ev.Kind = &eventsv1.ReadEvent_ChannelMuted{ChannelMuted: &eventsv1.ChannelMuted{Muted: *cmd.Muted}}
	}

	g.hub.mu.Lock()
	e := c.user.entries[cmd.ChannelID]
	if e == nil || e.ch == nil {
		g.hub.mu.Unlock()
		return notMember(cmd.ChannelID)
	}
	if m := ev.GetMarkedUnread(); m != nil && m.HeadSeq == 0 {
		m.HeadSeq = max(e.pushed, e.view.latest.seq) // the newest that the gateway pushed, or said in the inbox
	}
	settled := c.user.settled(e, cmd.ThreadID)
	public := cmd.Type == "mark_read" && !cmd.Private
	where := scope{cmd.ChannelID, cmd.ThreadID}
	// Where he stands may be a private read's doing, which covers no public one (DESIGN §4.5): so others must have been
	// told, too.
	if public && settled && c.user.last(e, where).id == cmd.MessageID && *c.user.told(e, where) == cmd.MessageID {
		g.hub.mu.Unlock()
		g.metrics.unchanged.Inc()
		c.answer(cmd, nil) // he stands there already
		return nil
	}
	u := c.user
	done := u.unsettle(e, cmd.ThreadID)
	g.hub.mu.Unlock()
	answer := *cmd
	g.produce(g.cfg.Topics.Reads, cmd.ChannelID, ev, func(token string, offset int64, err error) {
		g.hub.mu.Lock()
		done(offset, err)
		if public && err == nil {
			*u.told(e, where) = answer.MessageID
		}
		g.hub.mu.Unlock()
		if err != nil {
			c.sendNow(errorFrame(answer.ID, err))
			return
		}
		c.answer(&answer, []string{token})
	})
	return nil
}

// last is where the user stands in a scope.
func (u *user) last(e *entry, s scope) ref {
	if s.thread == "" {
		return e.view.last
	}
	if t := u.threads[s]; t != nil {
		return t.view.last
	}
	return ref{}
}

// told is the message of the last public read that this gateway wrote for the user in a scope, while he still stands
// somewhere; empty: none. Called with the lock.
func (u *user) told(e *entry, s scope) *string {
	if s.thread == "" {
		return &e.told
	}
	if t := u.threads[s]; t != nil {
		return &t.told
	}
	return new(string) // a thread that he does not follow: nothing is known of it
}

// settled reports whether what is known of a user in a channel includes all that this gateway wrote for him there. Until
// then nothing can be said to change nothing: a mark may be on its way.
func (u *user) settled(e *entry, thread string) bool {
	s := &e.stamp
	if thread != "" {
		t := u.threads[scope{e.view.channel, thread}]
		if t == nil {
			return false
		}
		s = &t.stamp
	}
	return e.writing == 0 && s.R >= e.unsettled
}

// unsettle notes that an event is being written. The answer is to be called with the lock when it was.
func (u *user) unsettle(e *entry, _ string) func(offset int64, err error) {
	e.writing++
	return func(offset int64, err error) {
		e.writing--
		if err == nil {
			e.unsettled = max(e.unsettled, offset+1)
		}
	}
}

func checkIDs(ids []string, most int) error {
	if len(ids) == 0 {
		return refuse(codeInvalid, "message_ids is empty")
	}
	if len(ids) > most {
		return refuse(codeExhausted, "message_ids has %d ids, the limit is %d", len(ids), most)
	}
	for _, id := range ids {
		if !events.ValidID([]byte(id)) {
			return refuse(codeInvalid, "message_ids: each has 1 to %d bytes without control characters", events.MaxIDBytes)
		}
	}
	return nil
}
