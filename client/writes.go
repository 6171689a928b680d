package client

import "context"

// Publish writes events and returns the tokens to pass as after, the last of each partition. If one
// event is invalid, it writes none. It makes one attempt only: a retry would write a mark twice if
// only the answer was lost.
func (c *Client) Publish(ctx context.Context, events ...Event) (after []string, err error) {
	var answer struct {
		After []string `json:"after"`
	}
	err = c.call(ctx, ingestService+"Publish", map[string]any{"events": events}, &answer)
	return latest(answer.After), err
}

// Post writes a MessagePosted.
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

// MarkUnread makes a message and all later ones unread again for a user. If the mark states no
// head, the user's own posts that are still in flight undo it.
func (c *Client) MarkUnread(ctx context.Context, user, channel string, mark MarkedUnread) (after []string, err error) {
	return c.Publish(ctx, Event{ChannelID: channel, UserID: user, Kind: mark})
}

// MarkAll selects what MarkAllRead reads. The zero MarkAll selects all channels, without their
// threads.
type MarkAll struct {
	Label   string // only channels that have it, the channel's own or the user's; empty: all
	Threads bool   // their threads too
	// InstanceID is the origin of the reads, which their deltas echo; empty: none.
	InstanceID string
	After      []string // tokens of records that the answer must include when the channels are looked up
}

// MarkAllRead reads all unread messages of a user, also in muted and archived channels, and returns
// the tokens to pass as after. Like Publish, it makes one attempt only.
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
