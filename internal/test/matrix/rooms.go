package matrix

import (
	"context"
	"net/http"
)

// CreateRoom makes a room that everybody may join. With invited it makes a private, direct room.
func (u *User) CreateRoom(ctx context.Context, invited ...string) (id string, err error) {
	body := map[string]any{"preset": "public_chat"}
	if len(invited) > 0 {
		body = map[string]any{"preset": "trusted_private_chat", "is_direct": true, "invite": invited}
	}
	var room struct {
		ID string `json:"room_id"`
	}
	err = u.do(ctx, http.MethodPost, "/createRoom", body, &room)
	return room.ID, err
}

// Invite invites a user to a room.
func (u *User) Invite(ctx context.Context, room, user string) error {
	return u.do(ctx, http.MethodPost, inRoom(room, "invite"), map[string]any{"user_id": user}, nil)
}

// Join joins a room.
func (u *User) Join(ctx context.Context, room string) error {
	return u.do(ctx, http.MethodPost, inRoom(room, "join"), nil, nil)
}

// Leave leaves a room.
func (u *User) Leave(ctx context.Context, room string) error {
	return u.do(ctx, http.MethodPost, inRoom(room, "leave"), nil, nil)
}

// Rename changes the name of the user in a room.
func (u *User) Rename(ctx context.Context, room, name string) error {
	return u.do(ctx, http.MethodPut, inRoom(room, "state", "m.room.member", u.ID), map[string]any{"membership": "join", "displayname": name}, nil)
}

// Direct marks rooms as direct for the user, by the other user in each.
func (u *User) Direct(ctx context.Context, rooms map[string][]string) error {
	return u.do(ctx, http.MethodPut, "/user/"+u.ID+"/account_data/m.direct", rooms, nil)
}
