package client

import (
	"context"
	"time"
)

// Page selects a part of a list, and states how new it must be.
type Page struct {
	Size  int      `json:"page_size,omitempty"`  // 0: the node's default
	Token string   `json:"page_token,omitempty"` // NextPageToken of the page before; empty: the first
	After []string `json:"after,omitempty"`      // tokens of records that the answer must include
}

// Unread returns what a user sees of a channel. after has tokens of records that the answer must
// include: the result of a write, or the AsOf of an earlier answer.
func (c *Client) Unread(ctx context.Context, user, channel string, after ...string) (*ChannelUnread, error) {
	return get[ChannelUnread](ctx, c, "GetUnread", named{User: user, Channel: channel, Page: Page{After: after}})
}

// Inboxes selects the channels that Inbox returns. The zero value selects the first page of those
// that are not archived.
type Inboxes struct {
	Page
	UnreadOnly bool      `json:"unread_only,omitempty"`
	Label      string    `json:"label,omitempty"`    // only channels that have it
	Archived   string    `json:"archived,omitempty"` // without, only, all
	At         time.Time `json:"evaluated_at,omitzero"`
}

// Inbox returns a page of a user's channels, unread first, with totals over all of them.
func (c *Client) Inbox(ctx context.Context, user string, which Inboxes) (*InboxPage, error) {
	which.After = latest(which.After)
	return get[InboxPage](ctx, c, "GetInbox", struct {
		Inboxes
		User string `json:"user_id"`
	}{which, user})
}

// Threads returns a page of the threads that a user follows, unread first, then by newest reply.
// anyAge: also threads older than 30 days.
func (c *Client) Threads(ctx context.Context, user string, anyAge bool, page Page) (*ThreadsPage, error) {
	return get[ThreadsPage](ctx, c, "GetThreads", named{User: user, AnyAge: anyAge, Page: page})
}

// Explain returns the messages that an unread count consists of, and why other messages do not
// count. An empty thread means the channel itself.
func (c *Client) Explain(ctx context.Context, user, channel, thread string, after ...string) (*Explanation, error) {
	return get[Explanation](ctx, c, "ExplainUnread", named{User: user, Channel: channel, Thread: thread, Page: Page{After: after}})
}

// Channel describes a channel independently of any user.
func (c *Client) Channel(ctx context.Context, channel string, after ...string) (*Channel, error) {
	return get[Channel](ctx, c, "GetChannel", named{Channel: channel, Page: Page{After: after}})
}

// Receipts returns who received and who read a message, and how many.
func (c *Client) Receipts(ctx context.Context, channel, message string, page Page) (*Receipts, error) {
	return get[Receipts](ctx, c, "GetReceipts", named{Channel: channel, Message: message, Page: page})
}

// Readers returns how far each member of a channel has read.
func (c *Client) Readers(ctx context.Context, channel string, page Page) (*ReadersPage, error) {
	return get[ReadersPage](ctx, c, "GetReaders", named{Channel: channel, Page: page})
}

// UserChannels returns the channels that hold anything about a user. It needs a token of scope
// service.
func (c *Client) UserChannels(ctx context.Context, user string, page Page) (*UserChannels, error) {
	return get[UserChannels](ctx, c, "ListUserChannels", named{OfUser: user, Page: page})
}

// named has the fields of the other requests.
type named struct {
	Page
	User    string `json:"user_id,omitempty"`
	OfUser  string `json:"of_user_id,omitempty"`
	Channel string `json:"channel_id,omitempty"`
	Thread  string `json:"thread_id,omitempty"`
	Message string `json:"message_id,omitempty"`
	AnyAge  bool   `json:"any_age,omitempty"`
}

func get[A, Q any](ctx context.Context, c *Client, method string, request Q) (*A, error) {
	if n, ok := any(request).(named); ok {
		n.After = latest(n.After)
		request = any(n).(Q) //nolint:forcetypeassert // it is that type
	}
	var answer A
	if err := c.read(ctx, method, request, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}
