package matrix

import (
	"context"
	"net/http"
	"net/url"
)

// Kinds of receipts.
const (
	Public  = "m.read"
	Private = "m.read.private"
)

// Main is the thread of messages that are in no thread.
const Main = "main"

// Read sends a receipt up to an event; thread is Main, the root of a thread, or empty for a receipt
// without a thread.
func (u *User) Read(ctx context.Context, kind, room, event, thread string) error {
	body := map[string]any{}
	if thread != "" {
		body["thread_id"] = thread
	}
	return u.do(ctx, http.MethodPost, inRoom(room, "receipt", kind, event), body, nil)
}

// Mute makes a push rule of the kind override or room that suppresses all notifications of a room.
func (u *User) Mute(ctx context.Context, kind, room string) error {
	rule := map[string]any{"actions": []any{}}
	if kind == "override" {
		rule["conditions"] = []any{map[string]any{"kind": "event_match", "key": "room_id", "pattern": room}}
	}
	return u.do(ctx, http.MethodPut, "/pushrules/global/"+kind+"/"+url.PathEscape(room), rule, nil)
}

// Enable enables or disables a push rule of a room.
func (u *User) Enable(ctx context.Context, kind, room string, enabled bool) error {
	return u.do(ctx, http.MethodPut, "/pushrules/global/"+kind+"/"+url.PathEscape(room)+"/enabled", map[string]any{"enabled": enabled}, nil)
}

// MarkUnread sets or removes the mark of a room as unread.
func (u *User) MarkUnread(ctx context.Context, room string, unread bool) error {
	return u.do(ctx, http.MethodPut, "/user/"+u.ID+inRoom(room, "account_data", "m.marked_unread"), map[string]any{"unread": unread}, nil)
}
