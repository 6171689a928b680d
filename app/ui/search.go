package ui

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
)

const (
	// foundOfEach bounds how many users, channels and messages one search returns.
	foundOfEach = 8
	maxSearch   = 255 // bytes of an id
	// textFrom is the number of bytes from which on texts of messages are searched too.
	textFrom = 3
)

// Found has the matches of a search among what the page remembers. The page looks up anything else
// by its exact id in the queries.
type Found struct {
	People   []Person       `json:"people"`
	Channels []FoundChannel `json:"channels"`
	Messages []FoundMessage `json:"messages"`
}

// FoundChannel is a channel and the number of its members that the page knows.
type FoundChannel struct {
	ID      string `json:"channel_id"`
	Members int    `json:"members"`
}

// FoundMessage is a message and its channel.
type FoundMessage struct {
	Channel string `json:"channel_id"`
	Message
}

func (u *UI) search(w http.ResponseWriter, r *http.Request) {
	q := strings.TrimSpace(r.URL.Query().Get("q"))
	if q == "" || len(q) > maxSearch {
		refuse(w, http.StatusBadRequest, errors.New("q: want 1 to 255 bytes"))
		return
	}
	reply(w, u.feed.search(q))
}

// search returns the ids that contain q, ignoring case, and the messages whose id or text does. Ids
// that begin with q come first; of messages, the newest.
func (t *timeline) search(q string) Found {
	q = strings.ToLower(q)
	f := Found{People: []Person{}, Channels: []FoundChannel{}, Messages: []FoundMessage{}}
	for _, p := range t.everybody() {
		if fits(p.ID, q) {
			f.People = append(f.People, p)
		}
	}
	t.findInChannels(q, &f)
	slices.SortFunc(f.People, func(a, b Person) int { return byFit(a.ID, b.ID, q) })
	slices.SortFunc(f.Channels, func(a, b FoundChannel) int { return byFit(a.ID, b.ID, q) })
	slices.SortFunc(f.Messages, func(a, b FoundMessage) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.ID, b.ID))
	})
	f.People = f.People[:min(len(f.People), foundOfEach)]
	f.Channels = f.Channels[:min(len(f.Channels), foundOfEach)]
	f.Messages = f.Messages[:min(len(f.Messages), foundOfEach)]
	return f
}

// findInChannels adds the channels and messages that fit q, which is in lower case.
func (t *timeline) findInChannels(q string, f *Found) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, c := range t.channels {
		if fits(id, q) {
			f.Channels = append(f.Channels, FoundChannel{id, len(c.members)})
		}
		for _, m := range c.messages {
			if fits(m.ID, q) || len(q) >= textFrom && fits(m.Text, q) {
				f.Messages = append(f.Messages, FoundMessage{id, *m})
			}
		}
	}
}

// fits reports whether an id or a text contains q, which is in lower case.
func fits(s, q string) bool { return strings.Contains(strings.ToLower(s), q) }

// byFit orders ids: those that begin with q first, shorter ones before longer ones.
func byFit(a, b, q string) int {
	begins := func(s string) int {
		if strings.HasPrefix(strings.ToLower(s), q) {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(begins(a), begins(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
