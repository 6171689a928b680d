package ui

import (
	"cmp"
	"slices"
	"sync"

	"github.com/tidemark/tidemark/events"
)

// Bounds of the page's memory: enough to scroll through, but no archive.
const (
	keptMessages = 300
	keptChannels = 1000
)

// Message is one message as the page shows it.
type Message struct {
	ID         string   `json:"message_id"`
	Sender     string   `json:"sender_id,omitempty"`
	Text       string   `json:"preview,omitempty"`
	At         int64    `json:"at"` // Unix milliseconds
	Thread     string   `json:"thread_id,omitempty"`
	Broadcast  bool     `json:"broadcast,omitempty"`
	Silent     bool     `json:"silent,omitempty"`
	Deleted    bool     `json:"deleted,omitempty"`
	Edited     bool     `json:"edited,omitempty"`
	Mentions   []string `json:"mentions,omitempty"`
	MentionAll bool     `json:"mention_all,omitempty"`
	HiddenFrom []string `json:"hidden_from,omitempty"` // users who do not see it
	Revision   uint64   `json:"revision"`              // grows with each change of the message
}

// timeline has the newest messages of each channel, as read from chat.messages.
type timeline struct {
	mu       sync.Mutex
	revision uint64
	channels map[string]*channelMessages
	changed  chan struct{} // closed at the next change, and replaced
}

type channelMessages struct {
	messages []*Message // oldest first
	byID     map[string]*Message
	members  map[string]bool
	revision uint64 // of the newest change
	cut      bool   // older messages were dropped
}

func newTimeline() *timeline {
	return &timeline{channels: map[string]*channelMessages{}, changed: make(chan struct{})}
}

// apply applies one event.
func (t *timeline) apply(m *events.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := string(m.ChannelID)
	if m.Kind == events.KindChannelDeleted {
		delete(t.channels, id)
		t.note(nil)
		return
	}
	c := t.channels[id]
	if c == nil {
		t.evictOldest()
		c = &channelMessages{byID: map[string]*Message{}, members: map[string]bool{}}
		t.channels[id] = c
	}
	t.note(c)
	switch m.Kind {
	case events.KindMessagePosted:
		c.post(m, t.revision)
	case events.KindMessageEdited:
		if x := c.byID[string(m.MessageID)]; x != nil {
			x.Text, x.Edited, x.Revision = string(m.Preview), true, t.revision
			if !m.KeepMentions {
				x.Mentions, x.MentionAll = texts(m.IDs), m.MentionAll
			}
		}
	case events.KindMessageDeleted:
		if x := c.byID[string(m.MessageID)]; x != nil {
			x.erase(t.revision)
		}
	case events.KindMessagesPurged:
		c.purge(m, t.revision)
	case events.KindMembersJoined:
		for _, u := range m.IDs {
			c.members[string(u)] = true
		}
	case events.KindMembersLeft:
		for _, u := range m.IDs {
			delete(c.members, string(u))
		}
	}
}

// note counts a change of a channel, or of the list of channels.
func (t *timeline) note(c *channelMessages) {
	t.revision++
	if c != nil {
		c.revision = t.revision
	}
	close(t.changed)
	t.changed = make(chan struct{})
}

// evictOldest drops the channel without changes for the longest time, if there are too many.
func (t *timeline) evictOldest() {
	if len(t.channels) < keptChannels {
		return
	}
	oldest := ""
	for id, c := range t.channels {
		if oldest == "" || c.revision < t.channels[oldest].revision {
			oldest = id
		}
	}
	delete(t.channels, oldest)
}

func (c *channelMessages) post(m *events.Message, revision uint64) {
	id := string(m.MessageID)
	if c.byID[id] != nil {
		return // a duplicate
	}
	x := &Message{
		ID: id, Sender: string(m.SenderID), Text: string(m.Preview), At: m.OccurredAt, Thread: string(m.ThreadID),
		Broadcast: m.Broadcast, Silent: m.Silent, Mentions: texts(m.IDs), MentionAll: m.MentionAll, HiddenFrom: texts(m.HiddenFrom),
		Revision: revision,
	}
	c.messages = append(c.messages, x)
	c.byID[id] = x
	if len(c.messages) > keptMessages {
		delete(c.byID, c.messages[0].ID)
		c.messages = slices.Delete(c.messages, 0, 1)
		c.cut = true
	}
}

// purge removes the messages up to one. It does not support targets by seq, because the page has no
// seqs.
func (c *channelMessages) purge(m *events.Message, revision uint64) {
	last := -1
	switch m.Target {
	case events.TargetMessageID:
		last = slices.IndexFunc(c.messages, func(x *Message) bool { return x.ID == string(m.MessageID) })
	case events.TargetTime:
		for i, x := range c.messages {
			if x.At <= m.TargetTime {
				last = i
			}
		}
	}
	for _, x := range c.messages[:last+1] {
		x.erase(revision)
	}
}

func (x *Message) erase(revision uint64) {
	x.Text, x.Mentions, x.MentionAll, x.Deleted, x.Revision = "", nil, false, true, revision
}

// History is a channel as the page shows it.
type History struct {
	Channel  string    `json:"channel_id"`
	Messages []Message `json:"messages"` // those that changed since the asked revision, oldest first
	Members  []string  `json:"members"`
	More     bool      `json:"more"` // there were older messages, which are not kept
	Revision uint64    `json:"revision"`
}

// history returns the changes of a channel since a revision; 0: all messages.
func (t *timeline) history(channel string, since uint64) History {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := History{Channel: channel, Messages: []Message{}, Members: []string{}, Revision: t.revision}
	c := t.channels[channel]
	if c == nil {
		return h
	}
	for _, x := range c.messages {
		if x.Revision > since {
			h.Messages = append(h.Messages, *x)
		}
	}
	for u := range c.members {
		h.Members = append(h.Members, u)
	}
	slices.Sort(h.Members)
	h.More = c.cut
	return h
}

// Person is a member of at least one channel.
type Person struct {
	ID       string `json:"user_id"`
	Channels int    `json:"channels"`
}

// people returns the members, those of most channels first; at most 500.
func (t *timeline) people() []Person {
	list := t.everybody()
	slices.SortFunc(list, func(a, b Person) int { return cmp.Or(b.Channels-a.Channels, cmp.Compare(a.ID, b.ID)) })
	return list[:min(len(list), 500)]
}

// everybody returns all members, in no order.
func (t *timeline) everybody() []Person {
	counts := t.memberships()
	list := make([]Person, 0, len(counts))
	for u, n := range counts {
		list = append(list, Person{u, n})
	}
	return list
}

// memberships returns the number of channels of each member.
func (t *timeline) memberships() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := map[string]int{}
	for _, c := range t.channels {
		for u := range c.members {
			counts[u]++
		}
	}
	return counts
}

// since returns the channels that changed after a revision, the newest revision, and a Go channel
// that is closed at the next change.
func (t *timeline) since(revision uint64) (channels []string, now uint64, next <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, c := range t.channels {
		if c.revision > revision {
			channels = append(channels, id)
		}
	}
	slices.Sort(channels)
	return channels, t.revision, t.changed
}

func texts(list [][]byte) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
