package projections

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestFanOutsNameMessagesOfTheirOwnChannel: deltas of several channels in one drain name messages
// of their own channel, whether these are among the newest ones or only in blocks of the log. A
// fan-out remembers blocks, and those of another channel have the same numbers.
func TestFanOutsNameMessagesOfTheirOwnChannel(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	channels := []string{"red", "green", "blue"}
	const messages = 70
	for _, channel := range channels {
		f.join(channel, "ann", "bob", "cat", "dan", "eve")
		for i := 1; i <= messages; i++ {
			f.message(events.Message{Kind: events.KindMessagePosted, ChannelID: []byte(channel), MessageID: fmt.Appendf(nil, "%s-%d", channel, i), SenderID: []byte("ann")})
		}
		for i, user := range []string{"bob", "cat", "dan"} { // eve reads nothing
			f.read(events.Read{
				Kind: events.KindReadUpTo, ChannelID: []byte(channel), UserID: []byte(user),
				Target: events.TargetMessageID, MessageID: fmt.Appendf(nil, "%s-%d", channel, 10+25*i),
			})
		}
	}
	var d Deltas
	p.Drain(&d, true)
	want := map[string][2]int{"ann": {messages, 0}, "bob": {10, 11}, "cat": {35, 36}, "dan": {60, 61}, "eve": {0, 1}}
	checked := 0
	for _, r := range d.Records {
		if r.Topic != OutUnread {
			continue
		}
		var m events.UnreadDelta
		if err := events.DecodeUnreadDelta(r.Value, &m); err != nil {
			t.Fatal(err)
		}
		user, channel, _ := strings.Cut(string(r.Key), "\x00")
		for i, got := range []events.Ref{m.LastRead, m.FirstUnread} {
			id := ""
			if n := want[user][i]; n > 0 {
				id = fmt.Sprintf("%s-%d", channel, n)
			}
			if string(got.MessageID) != id || int(got.Seq) != want[user][i] {
				t.Errorf("%s in %s: message %q, seq %d; want %q", user, channel, got.MessageID, got.Seq, id)
			}
			checked++
		}
		if id := fmt.Sprintf("%s-%d", channel, messages); string(m.Latest.MessageID) != id {
			t.Errorf("%s in %s: latest %q, want %q", user, channel, m.Latest.MessageID, id)
		}
	}
	if checked != 2*len(want)*len(channels) {
		t.Errorf("%d references in deltas, want %d", checked, 2*len(want)*len(channels))
	}
}
