package checker

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Device is a socket client of DESIGN §10 that knows nothing but what frames tell it: an inbox
// replaces everything, an update replaces one channel or thread. Connections come and go; what one
// has left unsaid, the next one's inbox says.
type Device struct {
	User string
	// Inboxes and Messages count what was heard on all connections.
	Inboxes, Messages int

	hasInbox bool // an inbox has come on this connection
	channels map[string]numbers
	threads  map[scope]numbers
	totals   totals
	heard    map[string]bool    // "channel\0message" on this connection
	listed   map[string]string  // the latest message of each channel in this connection's newest inbox
	shown    map[[2]string]bool // channel and message, on all connections, as message.new
	latest   map[[2]string]bool // the same, as latest
}

type scope struct{ channel, thread string }

// numbers is what a frame says of a channel or thread.
type numbers struct {
	Unread, Mentions, Offline uint32
	First, Last, Latest       projections.Ref
	Muted                     bool
	Epoch                     uint32
	Said                      toldSaid
}

// said is a frame, or an entry of an inbox.
type said struct {
	Type      string  `json:"type"`
	ChannelID string  `json:"channel_id"`
	ThreadID  string  `json:"thread_id"`
	MessageID string  `json:"message_id"`
	UserID    string  `json:"user_id"`
	Member    bool    `json:"member"`
	Followed  bool    `json:"followed"`
	Unread    uint32  `json:"unread"`
	Mentions  uint32  `json:"mentions"`
	Offline   uint32  `json:"offline_unread"`
	First     saidRef `json:"first_unread"`
	Last      saidRef `json:"last_read"`
	Latest    saidRef `json:"latest"`
	LastReply saidRef `json:"last_reply"`
	Muted     bool    `json:"muted"`
	Epoch     uint32  `json:"read_epoch"`
	Totals    totals  `json:"totals"`
	Channels  []said  `json:"channels"`
	Threads   []said  `json:"threads"`
	saidMore
}

type saidRef struct {
	MessageID string `json:"message_id"`
	Seq       uint32 `json:"seq"`
}

func (s *said) numbers() numbers {
	latest := s.Latest
	if s.ThreadID != "" {
		latest = s.LastReply
	}
	return numbers{s.Unread, s.Mentions, s.Offline, projections.Ref(s.First), projections.Ref(s.Last), projections.Ref(latest), s.Muted, s.Epoch, s.toldSaid()}
}

// Connected begins a connection: the first inbox of it is still to come, and until then what is
// known may be stale.
func (d *Device) Connected() {
	d.hasInbox, d.heard = false, map[string]bool{}
	if d.shown == nil {
		d.shown, d.latest = map[[2]string]bool{}, map[[2]string]bool{}
	}
}

// Apply takes a frame. It fails on one that is no frame, is for somebody else, or changes what no
// inbox has told.
func (d *Device) Apply(frame []byte) error {
	var s said
	if err := json.Unmarshal(frame, &s); err != nil {
		return fmt.Errorf("frame %s: %w", frame, err)
	}
	switch s.Type {
	case "hello":
		if s.UserID != d.User {
			return fmt.Errorf("hello to %q, this is %q", s.UserID, d.User)
		}
	case "inbox":
		d.inbox(&s)
	case "unread.updated":
		if !d.hasInbox {
			return fmt.Errorf("an update before any inbox: %s", frame)
		}
		d.update(&s)
	case "message.new":
		d.Messages++
		d.heard[s.ChannelID+"\x00"+s.MessageID] = true
		d.shown[[2]string{s.ChannelID, s.MessageID}] = true
	}
	return nil
}

func (d *Device) inbox(s *said) {
	d.Inboxes++
	d.hasInbox = true
	d.channels, d.threads, d.listed, d.totals = map[string]numbers{}, map[scope]numbers{}, map[string]string{}, s.Totals
	for i := range s.Channels {
		c := &s.Channels[i]
		d.channels[c.ChannelID] = c.numbers()
		d.listed[c.ChannelID] = c.Latest.MessageID
		d.note(c)
	}
	for i := range s.Threads {
		d.threads[scope{s.Threads[i].ChannelID, s.Threads[i].ThreadID}] = s.Threads[i].numbers()
	}
}

func (d *Device) update(s *said) {
	d.totals = s.Totals
	at := scope{s.ChannelID, s.ThreadID}
	switch {
	case s.ThreadID != "" && s.Followed:
		d.threads[at] = s.numbers()
	case s.ThreadID != "":
		delete(d.threads, at)
	case s.Member:
		d.channels[s.ChannelID] = s.numbers()
		d.note(s)
	default: // the threads that they follow in it are no longer theirs
		delete(d.channels, s.ChannelID)
		maps.DeleteFunc(d.threads, func(at scope, _ numbers) bool { return at.channel == s.ChannelID })
	}
}

func (d *Device) note(c *said) {
	if c.Latest.MessageID != "" {
		d.latest[[2]string{c.ChannelID, c.Latest.MessageID}] = true
	}
}

// Check compares what the device knows with the log, once everything of it is folded and told (O8),
// and everything that it ever heard with its rights (O9). now is when levels are judged, in Unix
// milliseconds.
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
			c.Levels.Level == events.LevelNone, v.ReadEpoch, saidOf(&c)}
		if v.Large { // which message is the first may not be known here
			want.First, got.First = projections.Ref{}, projections.Ref{}
			want.Said.FirstMention, got.Said.FirstMention = projections.Ref{}, projections.Ref{}
		}
		if m.OpenInTime(d.User, channel, "") { // the pointer moves without a delta
			want.Last, got.Last = projections.Ref{}, projections.Ref{}
		}
		if got.Said.Line == c.known { // an answer tells both halves of it, a delta what was said
			got.Said.Line = c.Line
		}
		if got != want {
			f.Add("%s: is told\n    %+v\n  but it is\n    %+v (O8)", channel, got, want)
		}
		d.checkHeard(l, channel, f)
	}
	for channel := range d.channels {
		if l.rooms[channel] == nil {
			f.Add("%s: listed, but the log has no such channel (O8)", channel)
		}
	}
	sum, _ := right.Sum("")
	if want := toldTotals(&sum); f.Count == 0 && want != d.totals {
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
		toldSaid{Direct: v.DirectMentions, FirstMention: v.FirstMention}}
	if got.Muted = false; l.Model(at.channel).OpenInTime(d.User, at.channel, at.thread) {
		want.Last, got.Last = projections.Ref{}, projections.Ref{}
	}
	if got != want {
		f.Add("thread %s of %s: is told\n    %+v\n  but it is\n    %+v (O8)", at.thread, at.channel, got, want)
	}
}

// checkHeard wants every message of the timeline after the one that the inbox named to have been
// heard on this connection: no gap between what a snapshot has and what is sent.
func (d *Device) checkHeard(l *Log, channel string, f *Findings) {
	after, there := d.listed[channel]
	if !there {
		return // joined since: how much of it was heard depends on when
	}
	gone := l.withdrawn(channel)
	beyond := after == ""
	stays := l.staysFrom(d.User, channel)
	for i := range l.rooms[channel].messages {
		m := &l.rooms[channel].messages[i].event
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

// withdrawn are the messages that were deleted, and those that were written twice or may have been
// purged.
func (l *Log) withdrawn(channel string) map[string]bool {
	gone, posted := map[string]bool{}, map[string]bool{}
	for i := range l.rooms[channel].messages {
		m := &l.rooms[channel].messages[i].event
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

// staysFrom is the event of a channel's timeline from which on a user, who is a member now, has
// been one.
func (l *Log) staysFrom(user, channel string) int {
	list := l.rooms[channel].messages
	for i := len(list) - 1; i >= 0; i-- {
		if !l.memberAt(user, channel, i) {
			return i + 1
		}
	}
	return 0
}

// checkRights wants a message to have been sent to members only, of whom it is not hidden, and to
// have been named as the latest of a channel only to those who were members then or came later
// (O9).
func (d *Device) checkRights(l *Log, f *Findings) {
	for key := range d.shown {
		if room := l.rooms[key[0]]; room == nil || !l.rightTo(d.User, key, func(at, _, hidden bool) bool { return at && !hidden }) {
			f.Add("%s: %s was sent to somebody who was no member when it was posted, or from whom it is hidden (O9)", key[0], key[1])
		}
	}
	for key := range d.latest {
		if room := l.rooms[key[0]]; room == nil || !l.rightTo(d.User, key, func(at, later, _ bool) bool { return at || later }) {
			f.Add("%s: %s was told to somebody who had left before it was posted (O9)", key[0], key[1])
		}
	}
}

// rightTo judges each post of a message id: whether the user was a member then, whether they became
// one later, and whether it is hidden from them.
func (l *Log) rightTo(user string, key [2]string, judge func(at, later, hidden bool) bool) bool {
	list := l.rooms[key[0]].messages
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
