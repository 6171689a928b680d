package client

import (
	"context"
	"encoding/json"
	"time"
)

// command is a frame that a device sends. Empty fields are left out.
type command struct {
	Type             string     `json:"type"`
	ID               string     `json:"id,omitempty"`
	ChannelID        string     `json:"channel_id,omitempty"`
	ThreadID         string     `json:"thread_id,omitempty"`
	MessageID        string     `json:"message_id,omitempty"`
	MessageIDs       []string   `json:"message_ids,omitempty"`
	Seq              int        `json:"seq,omitempty"`
	HeadSeq          int        `json:"head_seq,omitempty"`
	UpToSeq          int        `json:"up_to_seq,omitempty"`
	ReadEpoch        int        `json:"read_epoch,omitempty"`
	Private          bool       `json:"private,omitempty"`
	WithThreads      bool       `json:"with_threads,omitempty"`
	Level            Level      `json:"level,omitempty"`
	Until            *time.Time `json:"until,omitempty"`
	IgnoreMentionAll *bool      `json:"ignore_mention_all,omitempty"`
	Muted            *bool      `json:"muted,omitempty"`
	Flagged          *bool      `json:"flagged,omitempty"`
	Archived         *bool      `json:"archived,omitempty"`
	Keep             bool       `json:"keep,omitempty"`
	Labels           *[]string  `json:"labels,omitempty"`
}

// The commands of a device. Each waits for its answer, on this connection or a later one, and
// returns tokens: a read with these tokens includes the command.

// Focus reports that the user looks at a channel, or at a thread of it: the gateway then reads new
// messages for them. It lasts over reconnects.
func (d *Device) Focus(channel, thread string) {
	d.mu.Lock()
	d.focused[ThreadKey{channel, thread}] = struct{}{}
	d.mu.Unlock()
	d.outbox.sendNow(command{Type: "channel.focus", ChannelID: channel, ThreadID: thread})
}

// Blur ends the focus: the user looks elsewhere.
func (d *Device) Blur(channel, thread string) {
	d.mu.Lock()
	_, was := d.focused[ThreadKey{channel, thread}]
	delete(d.focused, ThreadKey{channel, thread})
	d.mu.Unlock()
	if was {
		d.outbox.sendNow(command{Type: "channel.blur", ChannelID: channel, ThreadID: thread})
	}
}

// MarkRead reads a channel, or a thread of it, up to the target of to: an id or a seq.
func (d *Device) MarkRead(ctx context.Context, channel string, to ReadUpTo) (after []string, err error) {
	return d.ask(ctx, command{
		Type: "mark_read", ChannelID: channel, ThreadID: to.ThreadID, MessageID: to.MessageID, Seq: to.Seq, ReadEpoch: to.ReadEpoch,
		Private: to.Private, WithThreads: to.WithThreads,
	})
}

// MarkUnread makes a message and all later ones unread again. It states the newest message that
// this device knows, unless the mark states one.
func (d *Device) MarkUnread(ctx context.Context, channel string, mark MarkedUnread) (after []string, err error) {
	head := mark.HeadSeq
	if head == 0 {
		head = d.head(channel, mark.ThreadID)
	}
	return d.ask(ctx, command{Type: "mark_unread", ChannelID: channel, ThreadID: mark.ThreadID, MessageID: mark.MessageID, HeadSeq: head})
}

// MessagesRead reads single messages, and leaves earlier ones unread.
func (d *Device) MessagesRead(ctx context.Context, channel string, messages ...string) (after []string, err error) {
	return d.ask(ctx, command{Type: "messages_read", ChannelID: channel, MessageIDs: messages})
}

// FollowThread makes the user follow a thread: its later replies count.
func (d *Device) FollowThread(ctx context.Context, channel, thread string) (after []string, err error) {
	return d.ask(ctx, command{Type: "thread.follow", ChannelID: channel, ThreadID: thread})
}

// UnfollowThread ends the follow.
func (d *Device) UnfollowThread(ctx context.Context, channel, thread string) (after []string, err error) {
	return d.ask(ctx, command{Type: "thread.unfollow", ChannelID: channel, ThreadID: thread})
}

// Notify sets what a channel adds to the badge, permanently or until a time.
func (d *Device) Notify(ctx context.Context, channel string, set NotifySet) (after []string, err error) {
	c := command{Type: "channel.notify", ChannelID: channel, Level: set.Level, IgnoreMentionAll: set.IgnoreMentionAll}
	if !set.Until.IsZero() {
		until := set.Until.UTC()
		c.Until = &until
	}
	return d.ask(ctx, c)
}

// Mute sets the level None if muted, else All.
func (d *Device) Mute(ctx context.Context, channel string, muted bool) (after []string, err error) {
	return d.ask(ctx, command{Type: "channel.mute", ChannelID: channel, Muted: &muted})
}

// Flag flags a channel as unread, whatever its count, or removes the flag.
func (d *Device) Flag(ctx context.Context, channel string, flagged bool) (after []string, err error) {
	return d.ask(ctx, command{Type: "channel.flag", ChannelID: channel, Flagged: &flagged, HeadSeq: d.head(channel, "")})
}

// File files a channel until there is news, or permanently with keep, or takes it back.
func (d *Device) File(ctx context.Context, channel string, archived, keep bool) (after []string, err error) {
	return d.ask(ctx, command{Type: "channel.file", ChannelID: channel, Archived: &archived, Keep: keep, HeadSeq: d.head(channel, "")})
}

// Hide removes messages, or all up to a seq, from this user's numbers permanently.
func (d *Device) Hide(ctx context.Context, channel string, what MessagesHidden) (after []string, err error) {
	return d.ask(ctx, command{Type: "message.hide", ChannelID: channel, MessageIDs: what.MessageIDs, UpToSeq: what.UpToSeq})
}

// Viewed reports that the user has played or opened messages.
func (d *Device) Viewed(ctx context.Context, channel string, messages ...string) (after []string, err error) {
	return d.ask(ctx, command{Type: "message.viewed", ChannelID: channel, MessageIDs: messages})
}

// SetLine remembers a place to come back to; no count depends on it.
func (d *Device) SetLine(ctx context.Context, channel string, at LineSet) (after []string, err error) {
	return d.ask(ctx, command{Type: "line.set", ChannelID: channel, MessageID: at.MessageID, Seq: at.Seq})
}

// SetLabels replaces the user's own labels of a channel.
func (d *Device) SetLabels(ctx context.Context, channel string, labels ...string) (after []string, err error) {
	if labels == nil {
		labels = []string{}
	}
	return d.ask(ctx, command{Type: "labels.set", ChannelID: channel, Labels: &labels})
}

// ReadState returns how far each member of a channel has read, at most 5,000 members.
func (d *Device) ReadState(ctx context.Context, channel string) ([]Reader, error) {
	f, err := d.outbox.ask(ctx, command{Type: "read_state", ChannelID: channel})
	if err != nil {
		return nil, err
	}
	var state struct {
		Readers []Reader `json:"readers"`
	}
	err = f.Decode(&state)
	return state.Readers, err
}

// Sync requests a new snapshot, which replaces everything.
func (d *Device) Sync(ctx context.Context) error {
	_, err := d.outbox.ask(ctx, command{Type: "sync"})
	return err
}

func (d *Device) ask(ctx context.Context, c command) (after []string, err error) {
	f, err := d.outbox.ask(ctx, c)
	if err != nil {
		return nil, err
	}
	var ack struct {
		After []string `json:"after"`
	}
	err = f.Decode(&ack)
	return ack.After, err
}

// head returns the newest message that this device knows.
func (d *Device) head(channel, thread string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.heads[channel]
	if c := d.inbox.Channels[channel]; c != nil && c.Latest != nil {
		n = max(n, c.Latest.Seq)
	}
	if t := d.inbox.Threads[ThreadKey{channel, thread}]; t != nil && t.LastReply != nil {
		n = max(n, t.LastReply.Seq)
	}
	return n
}

// Frame is a frame of the gateway.
type Frame struct {
	Type string
	Text json.RawMessage // the whole frame
}

// Decode reads the frame's fields into v.
func (f Frame) Decode(v any) error { return json.Unmarshal(f.Text, v) }
