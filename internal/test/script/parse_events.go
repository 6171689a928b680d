package script

import "github.com/tidemark/tidemark/events"

// event parses one event line, whose head was parsed before. A line can produce several records.
func (p *Parser) event(l *line, h *head) []Record {
	switch {
	case l.take("notice"):
		return messages(p.post(l, "", []string{l.word("a message id")}, true)...)
	case l.take("edit"):
		return messages(&events.Message{
			Kind: events.KindMessageEdited, MessageID: []byte(l.word("a message id")), Preview: []byte(l.text()),
			MentionAll: l.flag("@all"), KeepMentions: l.flag("keeping", "mentions"), IDs: bytesOf(l.prefixed("@")),
		})
	case l.take("delete", "the", "channel"):
		return messages(&events.Message{Kind: events.KindChannelDeleted})
	case l.take("delete"):
		m := &events.Message{Kind: events.KindMessageDeleted}
		m.MessageID, m.Seq = l.idOrSeq()
		return messages(m)
	case l.take("update", "the", "channel"):
		m := &events.Message{Kind: events.KindChannelUpdated, Archived: l.flag("archived")}
		if l.take("labels") {
			m.IDs = bytesOf(l.list("a label"))
		}
		return messages(m)
	case l.take("seed"):
		m := &events.Message{Kind: events.KindMessagesSeeded, Count: l.number("how many")}
		if !l.take("messages") {
			l.fail(`"seed" needs a number of "messages"`)
		}
		return messages(m)
	case l.take("purge", "up", "to"):
		m := &events.Message{Kind: events.KindMessagesPurged}
		m.Target, m.MessageID, m.Seq, m.TargetTime = p.target(l, h)
		return messages(m)
	}
	users := l.list("a user", "posts", "joins", "join", "leaves", "leave", "reads", "marks", "mutes", "unmutes",
		"follows", "unfollows", "is", "gets", "misses",
		"wants", "flags", "unflags", "files", "unfiles", "hides", "draws", "views", "labels")
	switch {
	case l.take("joins"), l.take("join"):
		return messages(&events.Message{
			Kind: events.KindMembersJoined, IDs: bytesOf(users), CountHistory: l.flag("counting", "history"),
		})
	case l.take("leaves"), l.take("leave"):
		return messages(&events.Message{Kind: events.KindMembersLeft, IDs: bytesOf(users)})
	}
	if len(l.tokens) == 0 {
		l.fail("no such event")
		return nil
	}
	if len(users) != 1 {
		l.fail("it needs one user, not %d", len(users))
		return nil
	}
	user := users[0]
	switch {
	case l.take("posts"):
		return messages(p.post(l, user, l.list("a message id", "silent", "broadcast", "in", "members", "@all", "hidden", "reading", "not"), false)...)
	case l.take("gets", "up", "to"):
		return deliveries(&events.Delivery{Kind: events.KindDelivered, UserID: []byte(user), UpToID: []byte(l.word("a message id"))})
	case l.take("gets"):
		return deliveries(&events.Delivery{Kind: events.KindDelivered, UserID: []byte(user), MessageID: []byte(l.word("a message id"))})
	case l.take("misses"):
		return deliveries(&events.Delivery{Kind: events.KindQueued, UserID: []byte(user), MessageID: []byte(l.word("a message id"))})
	}
	r := p.read(l, h)
	if r == nil {
		l.fail("no such event")
		return nil
	}
	r.UserID = []byte(user)
	return []Record{{Input: events.Reads, Read: r}}
}

// post returns one post for each id. With silent the posts are silent, whatever the line says.
func (p *Parser) post(l *line, sender string, ids []string, silent bool) []*events.Message {
	m := events.Message{
		Kind: events.KindMessagePosted, SenderID: []byte(sender), Preview: []byte(l.text()),
		Silent: l.flag("silent") || silent, Broadcast: l.flag("broadcast"), ThreadID: thread(l), MentionAll: l.flag("@all"),
		MarksRead: choice(l, []string{"reading"}, []string{"not", "reading"}),
	}
	if tail, ok := l.option("members"); ok {
		m.MemberCount = tail.number("members")
		l.rejoin(tail)
	}
	m.IDs = bytesOf(l.prefixed("@"))
	if tail, ok := l.option("hidden"); ok {
		if !tail.take("from") {
			tail.fail(`"hidden" needs "from" and users`)
		}
		m.HiddenFrom = bytesOf(tail.list("a user"))
		l.rejoin(tail)
	}
	var out []*events.Message
	for _, id := range ids {
		one := m
		one.MessageID = []byte(id)
		out = append(out, &one)
	}
	return out
}

// read parses a line of chat.reads; nil if the line is not one.
func (p *Parser) read(l *line, h *head) *events.Read {
	r := &events.Read{ThreadID: thread(l), Private: l.flag("private")}
	if tail, ok := l.option("epoch"); ok {
		r.ReadEpoch = tail.number("epoch")
		l.rejoin(tail)
	}
	if tail, ok := l.option("from"); ok {
		r.InstanceID = []byte(tail.word("an instance"))
		l.rejoin(tail)
	}
	switch {
	case l.take("reads", "up", "to"):
		r.Kind = events.KindReadUpTo
		r.Target, r.MessageID, r.Seq, r.TargetTime = p.target(l, h)
		r.WithThreads = l.take("with", "threads")
	case l.take("reads"):
		r.Kind, r.IDs = events.KindMessagesRead, bytesOf(l.list("a message id"))
	case l.take("marks", "unread"):
		r.Kind = events.KindMarkedUnread
		r.MessageID, r.Seq = l.idOrSeq()
		if l.take("head", "seq") {
			r.HeadSeq = l.number("head seq")
		}
		if l.take("head") {
			r.HeadMessageID = []byte(l.word("the head's message id"))
		}
	case l.take("mutes"):
		r.Kind, r.Muted = events.KindChannelMuted, true
	case l.take("unmutes"):
		r.Kind = events.KindChannelMuted
	case l.take("follows"):
		r.Kind, r.ThreadID = events.KindThreadFollowed, []byte(l.word("a thread"))
	case l.take("unfollows"):
		r.Kind, r.ThreadID = events.KindThreadUnfollowed, []byte(l.word("a thread"))
	case l.take("is", "erased"):
		r.Kind = events.KindUserErased
	default:
		return p.more(l, h, r)
	}
	return r
}

func messages(ms ...*events.Message) []Record {
	var out []Record
	for _, m := range ms {
		out = append(out, Record{Input: events.Messages, Message: m})
	}
	return out
}

func deliveries(d *events.Delivery) []Record {
	return []Record{{Input: events.Deliveries, Delivery: d}}
}
