package matrix

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Synapse's admin protocol requires it
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Server is a Matrix server.
type Server struct {
	URL    string
	Secret string // for Register

	sent atomic.Int64 // transactions
}

// User is a logged-in user.
type User struct {
	ID string

	server *Server
	token  string
}

// Error is a server's answer to a request that it refuses.
type Error struct {
	Status        int
	Code, Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// Register creates a user and logs them in.
func (s *Server) Register(ctx context.Context, name string) (*User, error) {
	const path = "/_synapse/admin/v1/register"
	var nonce struct {
		Nonce string `json:"nonce"`
	}
	if err := s.call(ctx, "", http.MethodGet, path, nil, &nonce); err != nil {
		return nil, err
	}
	const password = "a password"
	mac := hmac.New(sha1.New, []byte(s.Secret))
	fmt.Fprint(mac, strings.Join([]string{nonce.Nonce, name, password, "notadmin"}, "\x00"))
	var user struct {
		ID    string `json:"user_id"`
		Token string `json:"access_token"`
	}
	err := s.call(ctx, "", http.MethodPost, path, map[string]any{
		"nonce": nonce.Nonce, "username": name, "password": password, "admin": false, "mac": hex.EncodeToString(mac.Sum(nil)),
	}, &user)
	return &User{ID: user.ID, server: s, token: user.Token}, err
}

// retryEvery is how long a call waits before it is repeated.
const retryEvery = 100 * time.Millisecond

// call sends a request until the server answers it.
func (s *Server) call(ctx context.Context, token, method, path string, body, answer any) error {
	for {
		again, err := s.once(ctx, token, method, path, body, answer)
		if err == nil || !again {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s: %w; the last answer: %w", method, path, context.Cause(ctx), err)
		case <-time.After(retryEvery):
		}
	}
}

// patience is how long a call waits for a server that does not answer.
const patience = 20 * time.Second

// once sends a request. It reports whether it may be repeated.
func (s *Server) once(ctx context.Context, token, method, path string, body, answer any) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text := []byte("{}")
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return false, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(text))
	if err != nil {
		return false, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return true, err
	}
	defer res.Body.Close()
	reported, err := io.ReadAll(res.Body)
	if err != nil {
		return true, err
	}
	if res.StatusCode != http.StatusOK {
		refused := &Error{Status: res.StatusCode}
		var why struct {
			Code    string `json:"errcode"`
			Message string `json:"error"`
		}
		if json.Unmarshal(reported, &why) == nil {
			refused.Code, refused.Message = why.Code, why.Message
		}
		return res.StatusCode >= http.StatusInternalServerError, fmt.Errorf("%s %s: %w", method, path, refused)
	}
	if answer == nil {
		return false, nil
	}
	return false, json.Unmarshal(reported, answer)
}

// do calls the client API as the user.
func (u *User) do(ctx context.Context, method, path string, body, answer any) error {
	return u.server.call(ctx, u.token, method, "/_matrix/client/v3"+path, body, answer)
}

// transaction returns a new id, by which the server recognizes a repeated request.
func (u *User) transaction() string { return fmt.Sprint("t", u.server.sent.Add(1)) }

// inRoom returns the path of a room, followed by more.
func inRoom(room string, more ...string) string {
	path := "/rooms/" + url.PathEscape(room)
	for _, m := range more {
		path += "/" + url.PathEscape(m)
	}
	return path
}
