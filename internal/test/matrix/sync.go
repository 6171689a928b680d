package matrix

import (
	"context"
	"net/http"
	"net/url"
)

// Counts are the unread numbers that a server tells a user.
type Counts struct {
	Unread   int64 `json:"notification_count"`
	Mentions int64 `json:"highlight_count"`
}

// Place is a room, or a thread of it.
type Place struct{ Room, Thread string }

// Sync returns the numbers of all rooms that the user is in, threads apart. A thread without
// anything unread may be missing.
func (u *User) Sync(ctx context.Context) (map[Place]Counts, error) {
	const filter = `{"room":{"timeline":{"limit":1,"unread_thread_notifications":true}}}`
	var reported struct {
		Rooms struct {
			Join map[string]struct {
				Counts  Counts            `json:"unread_notifications"`
				Threads map[string]Counts `json:"unread_thread_notifications"`
			} `json:"join"`
		} `json:"rooms"`
	}
	if err := u.do(ctx, http.MethodGet, "/sync?timeout=0&filter="+url.QueryEscape(filter), nil, &reported); err != nil {
		return nil, err
	}
	all := map[Place]Counts{}
	for room, r := range reported.Rooms.Join {
		all[Place{room, ""}] = r.Counts
		for thread, c := range r.Threads {
			all[Place{room, thread}] = c
		}
	}
	return all, nil
}
