package checker

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// The other checks compare what an erased user sees with the model. The checks below have one more
// rule: nothing may be left of an erased user, whatever the model says. They use this rule alone.

// Gone returns the users of whom nothing may be left, sorted: in every existing channel that knows
// them they are no member, and their erasure came after all that they read.
func (l *Log) Gone() (users []string) {
	for _, user := range l.Users {
		erased := false
		if !slices.ContainsFunc(l.Channels(), func(channel string) bool {
			if l.Model(channel).Deleted(channel) || !l.knows(user, channel) {
				return false
			}
			erased = true
			return !l.goneFrom(user, channel)
		}) && erased {
			users = append(users, user)
		}
	}
	return users
}

// Erased reports whether every existing channel that knows a user has an erasure of them. What they
// read may come after it, if it left nothing of them: then erase-user need not erase them again.
func (l *Log) Erased(user string) bool {
	any := false
	return !slices.ContainsFunc(l.Channels(), func(channel string) bool {
		if l.Model(channel).Deleted(channel) || !l.knows(user, channel) {
			return false
		}
		any = true
		return !l.erasedIn(user, channel)
	}) && any
}

func (l *Log) erasedIn(user, channel string) bool {
	return slices.ContainsFunc(l.logs[channel].reads, func(r readAt) bool {
		return r.event.Kind == events.KindUserErased && string(r.event.UserID) == user
	})
}

// knows reports whether a channel has anything that a user did or that was done to them. A mention
// of the user is neither.
func (l *Log) knows(user, channel string) bool {
	is := func(id []byte) bool { return string(id) == user }
	log := l.logs[channel]
	return slices.ContainsFunc(log.reads, func(r readAt) bool { return is(r.event.UserID) }) ||
		slices.ContainsFunc(log.deliveries, func(d deliveryAt) bool { return is(d.event.UserID) }) ||
		slices.ContainsFunc(log.messages, func(m messageAt) bool {
			switch m.event.Kind {
			case events.KindMembersJoined, events.KindMembersLeft:
				return slices.ContainsFunc(m.event.IDs, is)
			}
			return is(m.event.SenderID)
		})
}

// goneFrom reports whether the erasure is the user's last event in a channel, and they are no
// member.
func (l *Log) goneFrom(user, channel string) bool {
	erased := false
	for i := range l.logs[channel].reads {
		if e := &l.logs[channel].reads[i].event; string(e.UserID) == user {
			erased = e.Kind == events.KindUserErased
		}
	}
	return erased && !l.memberAt(user, channel, len(l.logs[channel].messages))
}

// wasMember reports whether a user ever was a member. For a user who never was, all is unread.
func (l *Log) wasMember(user, channel string) bool {
	return slices.ContainsFunc(l.logs[channel].messages, func(m messageAt) bool {
		return m.event.Kind == events.KindMembersJoined && slices.ContainsFunc(m.event.IDs, func(id []byte) bool { return string(id) == user })
	})
}

// goneFromStore checks that a partition answers nothing about users who are gone.
func (l *Log) goneFromStore(p *model.WithCold, f *Findings) {
	for _, user := range l.Gone() {
		if err := p.Inbox(user, func(e *projections.InboxEntry) bool {
			f.Add("%s is gone, but has %s in their inbox", user, e.ChannelID)
			return true
		}); err != nil {
			f.Add("inbox of %s: %v", user, err)
		}
		if err := p.Threads(user, func(v *projections.ThreadView) bool {
			f.Add("%s is gone, but has the thread %s of %s in their list", user, v.ThreadID, v.ChannelID)
			return true
		}); err != nil {
			f.Add("threads of %s: %v", user, err)
		}
		for _, channel := range l.Channels() {
			if v, ok := p.View(user, channel); ok && l.knows(user, channel) {
				if message := l.describe(&v); message != "" {
					f.Add("%s is gone, but %s says %s", user, channel, message)
				}
			}
		}
	}
	for _, channel := range l.Channels() {
		l.goneFromLists(p, channel, f)
	}
}

// describe describes what a view still has of a user who is gone, or returns "" if it has nothing.
func (l *Log) describe(v *projections.View) string {
	if v.Member || v.LastRead.Seq != 0 || v.Muted || v.ReadEpoch != 1 || v.OfflineUnread != 0 ||
		l.wasMember(v.UserID, v.ChannelID) && (v.Unread != 0 || v.Mentions != 0 || v.FirstUnread.Seq != 0) {
		return script.FormatView(v)
	}
	return ""
}

// goneFromLists checks that users who were erased in a channel are neither among its readers nor
// among a message's recipients.
func (l *Log) goneFromLists(p *model.WithCold, channel string, f *Findings) {
	var erased []string
	for _, user := range l.Users {
		if l.erasedIn(user, channel) {
			erased = append(erased, user)
		}
	}
	if len(erased) == 0 {
		return
	}
	const page = 1000
	if v, ok := p.Readers(channel, 0, page); ok {
		for _, r := range v.List {
			if slices.Contains(erased, r.UserID) {
				f.Add("%s was erased in %s, but is among its readers", r.UserID, channel)
			}
		}
	}
	for _, id := range l.Model(channel).MessageIDs(channel) {
		v, _ := p.Receipts(channel, id, 0, page)
		for _, r := range v.List {
			if slices.Contains(erased, r.UserID) {
				f.Add("%s was erased in %s, but is among the recipients of %s", r.UserID, channel, id)
			}
		}
	}
}

// goneFromRedis checks that Redis has no key of a user who is gone, except the key with the
// channels that they left, which lasts a day.
func (l *Log) goneFromRedis(ctx context.Context, rdb *redis.Client, f *Findings) {
	for _, user := range l.Gone() {
		for _, pattern := range []string{"*:" + user, "*:" + user + ":*"} {
			keys := rdb.Scan(ctx, 0, pattern, 1000).Iterator()
			for keys.Next(ctx) {
				if !strings.HasPrefix(keys.Val(), cache.InboxGoneKey(user)) {
					f.Add("%s is gone, but there is %s", user, keys.Val())
				}
			}
			if err := keys.Err(); err != nil {
				f.Add("list the keys of %s: %v", user, err)
			}
		}
	}
}

// gone checks that the newest value of each key of a user who is gone contains nothing of them
// (O6).
func (h *History) gone(l *Log, f *Findings) {
	gone := l.Gone()
	for _, key := range h.Keys {
		u, _, thread, _ := events.SplitUnreadKey([]byte(key))
		if !slices.Contains(gone, string(u)) {
			continue
		}
		best := &h.of[key][len(h.of[key])-1]
		v := best.view
		if v.Member || v.LastRead.Seq != 0 || v.Muted || v.ReadEpoch != 1 || v.OfflineUnread != 0 || v.Unread != 0 || v.Mentions != 0 ||
			v.FirstUnread.Seq != 0 || len(v.Excluded)+len(v.Mentioned) > 0 || len(thread) > 0 && v.Latest.Seq != 0 {
			f.Add("%s is gone, but the newest value of %q, %s, says\n    %s", u, key, best.at, script.FormatView(&v))
		}
	}
}
