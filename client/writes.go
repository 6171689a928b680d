package client

import "context"

// Publish writes events and returns the tokens to pass as after, the last of each partition. All
// are refused if one is invalid. It is tried once: a mark that was written although the answer was
// lost would be made twice.
func (c *Client) Publish(ctx context.Context, events ...Event) (after []string, err error) {
	var answer struct {
		After []string `json:"after"`
	}
	err = c.call(ctx, ingestService+"Publish", map[string]any{"events": events}, &answer)
	return latest(answer.After), err
}

// Post writes that a message was posted.
func (c *Client) Post(ctx context.Context, channel string, m MessagePosted) (after []string, err error) {
	return c.Publish(ctx, Event{ChannelID: channel, Kind: m})
}

// Join makes users members of a channel.
func (c *Client) Join(ctx context.Context, channel string, users ...string) (after []string, err error) {
	return c.Publish(ctx, Event{ChannelID: channel, Kind: MembersJoined{UserIDs: users}})
}

// Leave ends the membership of users.
func (c *Client) Leave(ctx context.Context, channel string, users ...string) (after []string, err error) {
	return c.Publish(ctx, Event{ChannelID: channel, Kind: MembersLeft{UserIDs: users}})
}

// Read moves the pointer of a user.
func (c *Client) Read(ctx context.Context, user, channel string, to ReadUpTo) (after []string, err error) {
	return c.Publish(ctx, Event{ChannelID: channel, UserID: user, Kind: to})
}

// MarkUnread makes a message, and what came after it, unread again for a user. Without a head in
// the mark, posts of the user's own that are on their way win over it.
func (c *Client) MarkUnread(ctx context.Context, user, channel string, mark MarkedUnread) (after []string, err error) {
	return c.Publish(ctx, Event{ChannelID: channel, UserID: user, Kind: mark})
}

// MarkAll says what MarkAllRead reads. The zero MarkAll is all channels, without their threads.
type MarkAll struct {
	Label   string // only channels that have it, the channel's own or the user's; empty: all
	Threads bool   // their threads too
	// InstanceID is the origin that the deltas of these reads echo; empty: none.
	InstanceID string
	After      []string // tokens of records to be included when the channels are looked up
}

// MarkAllRead reads what a user has unread, muted and archived channels too, and returns the tokens
// to pass as after. It is tried once, as Publish is.
func (c *Client) MarkAllRead(ctx context.Context, user string, what MarkAll) (after []string, err error) {
	request := struct {
		UserID     string   `json:"user_id"`
		Label      string   `json:"label,omitempty"`
		Threads    bool     `json:"threads,omitempty"`
		InstanceID string   `json:"instance_id,omitempty"`
		After      []string `json:"after,omitempty"`
	}{user, what.Label, what.Threads, what.InstanceID, latest(what.After)}
	var answer struct {
		After []string `json:"after"`
	}
	err = c.call(ctx, ingestService+"MarkAllRead", request, &answer)
	return latest(answer.After), err
}
