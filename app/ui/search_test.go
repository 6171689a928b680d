package ui

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
)

func ids[T any](list []T, id func(T) string) string {
	var b strings.Builder
	for _, x := range list {
		fmt.Fprintf(&b, "%s ", id(x))
	}
	return strings.TrimSpace(b.String())
}

// A search finds users, channels and messages by parts of their ids, ignoring case, with prefixes
// first; and messages by their text, newest first. It also finds users who are in few channels.
func TestSearch(t *testing.T) {
	tl := newTimeline()
	join := func(channel string, users ...string) {
		m := events.Message{Kind: events.KindMembersJoined, ChannelID: []byte(channel)}
		for _, u := range users {
			m.IDs = append(m.IDs, []byte(u))
		}
		tl.apply(&m)
	}
	for i := range 600 {
		join("crowd", fmt.Sprintf("guest-%03d", i))
	}
	join("Release", "ann", "joanna", "Annika")
	for i, text := range []string{"the release is out", "hello", "RELEASE it"} {
		tl.apply(&events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("Release"), MessageID: fmt.Appendf(nil, "m-%d", i), Preview: []byte(text), OccurredAt: int64(i)})
	}
	for _, w := range []struct{ q, people, channels, messages string }{
		{"ann", "ann Annika joanna", "", ""},
		{"guest-599", "guest-599", "", ""},
		{"release", "", "Release", "m-2 m-0"},
		{"m-1", "", "", "m-1"},
		{"he", "", "", ""}, // too short for a search of texts, and no id contains it
		{"guest", "guest-000 guest-001 guest-002 guest-003 guest-004 guest-005 guest-006 guest-007", "", ""},
		{"nobody", "", "", ""},
	} {
		f := tl.search(w.q)
		people, channels := ids(f.People, func(p Person) string { return p.ID }), ids(f.Channels, func(c FoundChannel) string { return c.ID })
		messages := ids(f.Messages, func(m FoundMessage) string { return m.ID })
		if people != w.people || channels != w.channels || messages != w.messages {
			t.Errorf("%q: users %q, channels %q, messages %q; want %+v", w.q, people, channels, messages, w)
		}
	}
	u, _ := page(t)
	for q, want := range map[string]int{"": http.StatusBadRequest, strings.Repeat("x", 256): http.StatusBadRequest, "x": http.StatusOK} {
		if w := ask(u, http.MethodGet, "/ui/api/search?q="+q, ""); w.Code != want {
			t.Errorf("%.10q: %d, want %d", q, w.Code, want)
		}
	}
}
