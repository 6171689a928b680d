package chats

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Slack is a Slack workspace whose users do random things.
type Slack struct {
	r   *rand.Rand
	now int64 // Unix milliseconds

	Users    []string
	Channels []string
	days     map[string]map[string][]map[string]any // messages by channel and day
	posts    map[string][]slackPost
	in       map[string]map[string]bool
	replied  map[[3]string]bool // user, channel and root; until the user leaves
}

type slackPost struct{ ts, root string }

// slackNames are the folders of the channels.
var slackNames = map[string]string{"C1": "general", "C2": "random", "G1": "staff", "G2": "mpdm-ann--bob--cem-1", "D1": "D1"}

// PlaySlack plays a number of random actions.
func PlaySlack(r *rand.Rand, begin int64, actions int) *Slack {
	s := &Slack{
		r: r, now: begin, Users: []string{"U1", "U2", "U3", "U4"}, Channels: slices.Sorted(maps.Keys(slackNames)),
		days: map[string]map[string][]map[string]any{}, posts: map[string][]slackPost{}, in: map[string]map[string]bool{}, replied: map[[3]string]bool{},
	}
	for _, c := range s.Channels {
		s.days[c], s.in[c] = map[string][]map[string]any{}, map[string]bool{}
	}
	s.in["D1"], s.in["G2"] = map[string]bool{"U1": true, "U2": true}, map[string]bool{"U1": true, "U2": true, "U3": true}
	for range actions {
		s.step(pick(r, s.Channels), pick(r, s.Users))
	}
	return s
}

func (s *Slack) direct(channel string) bool { return channel == "D1" || channel == "G2" }

// say adds a message to the export.
func (s *Slack) say(channel, user, text string, more map[string]any) (ts string) {
	s.now += 1 + s.r.Int64N(2*hour)
	ts = fmt.Sprintf("%d.%03d%03d", s.now/1000, s.now%1000, s.r.IntN(1000))
	m := map[string]any{"type": "message", "ts": ts, "text": text, "user": user}
	maps.Copy(m, more)
	day := time.UnixMilli(s.now).UTC().Format(time.DateOnly)
	s.days[channel][day] = append(s.days[channel][day], m)
	return ts
}

func (s *Slack) step(c, user string) {
	if !s.in[c][user] {
		switch {
		case s.direct(c):
		case s.r.IntN(8) == 0 && !s.spoke(c, user):
			s.in[c][user] = true // the export does not have the time of it
		default:
			s.say(c, user, "<@"+user+"> has joined the channel", map[string]any{"subtype": map[bool]string{true: "group_join", false: "channel_join"}[c == "G1"]})
			s.in[c][user] = true
		}
		return
	}
	what := s.r.IntN(16)
	if len(s.posts[c]) == 0 {
		what = 0
	}
	switch {
	case what < 6:
		s.posts[c] = append(s.posts[c], slackPost{ts: s.say(c, user, s.text(), nil)})
	case what < 10:
		s.reply(c, user)
	case what == 10:
		s.say(c, "", "deployed", map[string]any{"subtype": "bot_message", "bot_id": "B1", "user": nil})
	case what == 11:
		s.say(c, user, "set the topic", map[string]any{"subtype": "channel_topic"})
	case what == 12:
		p := pick(s.r, s.posts[c])
		if slices.Contains(s.Roots(c), p.ts) {
			return // the root stays as a tombstone
		}
		s.posts[c] = slices.DeleteFunc(s.posts[c], func(x slackPost) bool { return x == p })
		s.say(c, "", "", map[string]any{"subtype": "message_deleted", "deleted_ts": p.ts, "hidden": true})
	case what == 13 && !s.direct(c):
		s.in[c][user] = false
		maps.DeleteFunc(s.replied, func(at [3]string, _ bool) bool { return at[0] == user && at[1] == c })
		if s.r.IntN(4) > 0 { // otherwise somebody removed them, which posts no message
			s.say(c, user, "<@"+user+"> has left the channel", map[string]any{"subtype": map[bool]string{true: "group_leave", false: "channel_leave"}[c == "G1"]})
		}
	case what == 14:
		s.say(c, user, "changed", map[string]any{"subtype": "message_changed", "hidden": true})
	}
}

// spoke reports whether the export has a message about a user's membership.
func (s *Slack) spoke(c, user string) bool {
	for _, day := range s.days[c] {
		for _, m := range day {
			if kind, _ := m["subtype"].(string); m["user"] == user && (strings.HasSuffix(kind, "_join") || strings.HasSuffix(kind, "_leave")) {
				return true
			}
		}
	}
	return false
}

func (s *Slack) text() string {
	return pick(s.r, []string{"words", "hello <@" + pick(s.r, s.Users) + ">", "<!here> look at <https://example.org|this>", "a &lt; b"})
}

func (s *Slack) reply(c, user string) {
	p := pick(s.r, s.posts[c])
	root := p.ts
	if p.root != "" {
		root = p.root
	}
	more := map[string]any{"thread_ts": root, "parent_user_id": "U1"}
	if s.r.IntN(4) == 0 {
		more["subtype"] = "thread_broadcast"
	}
	s.posts[c] = append(s.posts[c], slackPost{s.say(c, user, s.text(), more), root})
	s.replied[[3]string{user, c, root}] = true
}

// Member reports whether a user is a member at the end.
func (s *Slack) Member(user, channel string) bool { return s.in[channel][user] }

// Roots returns the roots of a channel's threads.
func (s *Slack) Roots(channel string) (roots []string) {
	for _, p := range s.posts[channel] {
		if p.root != "" && !slices.Contains(roots, p.root) {
			roots = append(roots, p.root)
		}
	}
	return roots
}

// Replied reports whether a user has written in a thread during their current membership.
func (s *Slack) Replied(user, channel, root string) bool {
	return s.replied[[3]string{user, channel, root}]
}

// Write writes the export into a folder.
func (s *Slack) Write(dir string) error {
	lists := map[string][]map[string]any{"users": {}, "channels": {}, "groups": {}, "mpims": {}, "dms": {}}
	for _, u := range s.Users {
		lists["users"] = append(lists["users"], map[string]any{"id": u, "name": "name-of-" + u})
	}
	files := map[string]any{}
	for _, c := range s.Channels {
		list := map[string]string{"C1": "channels", "C2": "channels", "G1": "groups", "G2": "mpims", "D1": "dms"}[c]
		members := []string{}
		for _, u := range s.Users {
			if s.in[c][u] {
				members = append(members, u)
			}
		}
		lists[list] = append(lists[list], map[string]any{"id": c, "name": slackNames[c], "created": 1_600_000_000, "members": members})
		for day, messages := range s.days[c] {
			files[filepath.Join(slackNames[c], day)] = messages
		}
	}
	for name, list := range lists {
		files[name] = list
	}
	return writeJSON(dir, files)
}

func writeJSON(dir string, files map[string]any) error {
	for name, content := range files {
		path := filepath.Join(dir, name+".json")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		b, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			return err
		}
	}
	return nil
}
