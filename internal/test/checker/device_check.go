package checker

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Check compares the device's values with the log, once all of the log is folded and published
// (O8), and everything that it ever received with the user's rights (O9). It judges levels as of
// now, in Unix milliseconds.
func (d *Device) Check(l *Log, now int64) *Findings {
	f := &Findings{What: "a device of " + d.User + " against the model of the log"}
	if !d.hasInbox {
		f.Add("no inbox has come on this connection")
		return f
	}
	right := &Answer{Channels: map[string]Channel{}, Threads: map[ThreadID]Thread{}}
	for _, channel := range l.Channels() {
		m := l.Model(channel)
		v, ok := m.View(d.User, channel)
		got, has := d.channels[channel]
		is := ok && v.Member
		if is != has {
			f.Add("%s: listed %v, a member %v (O8)", channel, has, is)
		}
		for _, thread := range m.Threads(channel) {
			d.checkThread(l, scope{channel, thread}, is, right, f)
		}
		if !is || !has {
			continue
		}
		c := rightOf(m, &v, now)
		right.Channels[channel] = c
		want := numbers{v.Unread, v.Mentions, v.OfflineUnread, v.FirstUnread, v.LastRead, projections.Ref{MessageID: v.Latest.MessageID, Seq: v.Latest.Seq},
			c.Levels.Level == events.LevelNone, v.ReadEpoch, settingsOf(&c)}
		if v.Large { // the gateway may not have the first unread message
			want.First, got.First = projections.Ref{}, projections.Ref{}
			want.Settings.FirstMention, got.Settings.FirstMention = projections.Ref{}, projections.Ref{}
		}
		if m.OpenInTime(d.User, channel, "") { // the pointer moves without a delta
			want.Last, got.Last = projections.Ref{}, projections.Ref{}
		}
		if got.Settings.Line == c.known { // a delta has only the stated half
			got.Settings.Line = c.Line
		}
		if got != want {
			f.Add("%s: is told\n    %+v\n  but it is\n    %+v (O8)", channel, got, want)
		}
		d.checkHeard(l, channel, f)
	}
	for channel := range d.channels {
		if l.logs[channel] == nil {
			f.Add("%s: listed, but the log has no such channel (O8)", channel)
		}
	}
	sum, _ := right.Sum("")
	if want := deviceTotals(&sum); f.Count == 0 && want != d.totals {
		f.Add("totals are told as %+v, but are %+v (O8)", d.totals, want)
	}
	d.checkRights(l, f)
	return f
}

func (d *Device) checkThread(l *Log, at scope, member bool, right *Answer, f *Findings) {
	v, ok := seen(l.Model(at.channel), d.User, at.channel, at.thread)
	is := ok && member && v.Member
	got, has := d.threads[at]
	if is && !has && !slices.ContainsFunc(l.Model(at.channel).ThreadList(d.User), func(t projections.ThreadView) bool {
		return t.ChannelID == at.channel && t.ThreadID == at.thread
	}) {
		return // too long ago to be in an inbox
	}
	if is != has {
		f.Add("thread %s of %s: listed %v, followed %v (O8)", at.thread, at.channel, has, is)
	}
	if !is || !has {
		return
	}
	right.Threads[ThreadID{at.channel, at.thread}] = Thread{Counts: countsOf(&v), Listed: true}
	want := numbers{v.Unread, v.Mentions, 0, v.FirstUnread, v.LastRead, projections.Ref{MessageID: v.Latest.MessageID, Seq: v.Latest.Seq}, false, v.ReadEpoch,
		deviceSettings{Direct: v.DirectMentions, FirstMention: v.FirstMention}}
	if got.Muted = false; l.Model(at.channel).OpenInTime(d.User, at.channel, at.thread) {
		want.Last, got.Last = projections.Ref{}, projections.Ref{}
	}
	if got != want {
		f.Add("thread %s of %s: is told\n    %+v\n  but it is\n    %+v (O8)", at.thread, at.channel, got, want)
	}
}

// checkHeard checks that this connection received every message of the timeline after the one that
// the inbox named: there is no gap between a snapshot and what follows it.
func (d *Device) checkHeard(l *Log, channel string, f *Findings) {
	after, there := d.listed[channel]
	if !there {
		return // the user joined later: what the device heard depends on when
	}
	gone := l.withdrawn(channel)
	beyond := after == ""
	stays := l.staysFrom(d.User, channel)
	for i := range l.logs[channel].messages {
		m := &l.logs[channel].messages[i].event
		id := string(m.MessageID)
		if m.Kind != events.KindMessagePosted {
			continue
		}
		if beyond && i >= stays && !gone[id] && !m.Silent && len(m.ThreadID) == 0 && !hidden(m, d.User) && !d.heard[channel+"\x00"+id] {
			f.Add("%s: %s came after the inbox, whose latest is %q, and was never sent (O8)", channel, id, after)
		}
		beyond = beyond || id == after
	}
}

// withdrawn returns the messages that were deleted, written twice, or possibly purged.
func (l *Log) withdrawn(channel string) map[string]bool {
	gone, posted := map[string]bool{}, map[string]bool{}
	for i := range l.logs[channel].messages {
		m := &l.logs[channel].messages[i].event
		id := string(m.MessageID)
		switch m.Kind {
		case events.KindMessagePosted:
			gone[id] = gone[id] || posted[id]
			posted[id] = true
		case events.KindMessageDeleted:
			gone[id] = true
		case events.KindMessagesPurged, events.KindChannelDeleted:
			for id := range posted {
				gone[id] = true
			}
		}
	}
	return gone
}

// staysFrom returns the index, in a channel's timeline, of the event that began the present
// membership of a user.
func (l *Log) staysFrom(user, channel string) int {
	list := l.logs[channel].messages
	for i := len(list) - 1; i >= 0; i-- {
		if !l.memberAt(user, channel, i) {
			return i + 1
		}
	}
	return 0
}

// checkRights checks that a message was sent only to members from whom it is not hidden, and was
// named as the latest of a channel only to users who were members then or joined later (O9).
func (d *Device) checkRights(l *Log, f *Findings) {
	for key := range d.shown {
		if log := l.logs[key[0]]; log == nil || !l.rightTo(d.User, key, func(at, _, hidden bool) bool { return at && !hidden }) {
			f.Add("%s: %s was sent to somebody who was no member when it was posted, or from whom it is hidden (O9)", key[0], key[1])
		}
	}
	for key := range d.latest {
		if log := l.logs[key[0]]; log == nil || !l.rightTo(d.User, key, func(at, later, _ bool) bool { return at || later }) {
			f.Add("%s: %s was told to somebody who had left before it was posted (O9)", key[0], key[1])
		}
	}
}

// rightTo judges each post of a message id: whether the user was a member then, whether they became
// one later, and whether it is hidden from them.
func (l *Log) rightTo(user string, key [2]string, judge func(at, later, hidden bool) bool) bool {
	list := l.logs[key[0]].messages
	for i := range list {
		if m := &list[i].event; m.Kind != events.KindMessagePosted || string(m.MessageID) != key[1] {
			continue
		}
		at, later := l.memberAt(user, key[0], i), false
		for n := i; n < len(list) && !later; n++ {
			later = list[n].event.Kind == events.KindMembersJoined &&
				slices.ContainsFunc(list[n].event.IDs, func(id []byte) bool { return string(id) == user })
		}
		if judge(at, later, hidden(&list[i].event, user)) {
			return true
		}
	}
	return false
}
