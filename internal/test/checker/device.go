package checker

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/tidemark/tidemark/projections"
)

// Device is a socket client of DESIGN §10 that keeps only what its frames contain. An inbox
// replaces everything; an update replaces one channel or thread. Connections come and go: the inbox
// of the next connection has what the device missed.
type Device struct {
	User string
	// Inboxes and Messages count the frames on all connections.
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

// numbers has the counts of a channel or thread in a frame.
type numbers struct {
	Unread, Mentions, Offline uint32
	First, Last, Latest       projections.Ref
	Muted                     bool
	Epoch                     uint32
	Settings                  deviceSettings
}

// frameBody is a frame, or an entry of an inbox.
type frameBody struct {
	Type      string      `json:"type"`
	ChannelID string      `json:"channel_id"`
	ThreadID  string      `json:"thread_id"`
	MessageID string      `json:"message_id"`
	UserID    string      `json:"user_id"`
	Member    bool        `json:"member"`
	Followed  bool        `json:"followed"`
	Unread    uint32      `json:"unread"`
	Mentions  uint32      `json:"mentions"`
	Offline   uint32      `json:"offline_unread"`
	First     frameRef    `json:"first_unread"`
	Last      frameRef    `json:"last_read"`
	Latest    frameRef    `json:"latest"`
	LastReply frameRef    `json:"last_reply"`
	Muted     bool        `json:"muted"`
	Epoch     uint32      `json:"read_epoch"`
	Totals    totals      `json:"totals"`
	Channels  []frameBody `json:"channels"`
	Threads   []frameBody `json:"threads"`
	frameSettings
}

type frameRef struct {
	MessageID string `json:"message_id"`
	Seq       uint32 `json:"seq"`
}

func (s *frameBody) numbers() numbers {
	latest := s.Latest
	if s.ThreadID != "" {
		latest = s.LastReply
	}
	return numbers{s.Unread, s.Mentions, s.Offline, projections.Ref(s.First), projections.Ref(s.Last), projections.Ref(latest), s.Muted, s.Epoch, s.settings()}
}

// Connected begins a connection. Until its first inbox, the device's values may be stale.
func (d *Device) Connected() {
	d.hasInbox, d.heard = false, map[string]bool{}
	if d.shown == nil {
		d.shown, d.latest = map[[2]string]bool{}, map[[2]string]bool{}
	}
}

// Apply takes a frame. It fails if the bytes are no frame, if the frame is for another user, and if
// it is an update before the first inbox.
func (d *Device) Apply(frame []byte) error {
	var s frameBody
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

func (d *Device) inbox(s *frameBody) {
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

func (d *Device) update(s *frameBody) {
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
	default: // they no longer follow the threads in it
		delete(d.channels, s.ChannelID)
		maps.DeleteFunc(d.threads, func(at scope, _ numbers) bool { return at.channel == s.ChannelID })
	}
}

func (d *Device) note(c *frameBody) {
	if c.Latest.MessageID != "" {
		d.latest[[2]string{c.ChannelID, c.Latest.MessageID}] = true
	}
}
