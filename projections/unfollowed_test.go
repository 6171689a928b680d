package projections

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestUnfollowedThreadsAreKept: an unfollow lasts over restarts and replies, so its record stays.
// It costs as much as docs/guarantees.md states, and leaves with its channel.
func TestUnfollowedThreadsAreKept(t *testing.T) {
	const n = 10_922 // as much of the last chunk of rows is free with the first user's as with all
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	f := &feed{p, 1000}
	users := []string{"user-0000001", "user-0000002", "user-0000003", "user-0000004"}
	f.join("channel-0001", append(users, "anna")...)
	thread := func(i int) string { return fmt.Sprintf("message-%07d", i) }
	for i := range n {
		f.post("channel-0001", thread(i), "anna", "")
	}
	f.store(t)
	unfollow := func(users ...string) (memory, store int64) {
		f.store(t)
		hot := p.hotBytes()
		bytes := storedBytes(t, p)
		for _, user := range users {
			for i := range n {
				for _, kind := range []events.Kind{events.KindThreadFollowed, events.KindThreadUnfollowed} {
					f.read(events.Read{Kind: kind, ChannelID: []byte("channel-0001"), ThreadID: []byte(thread(i)), UserID: []byte(user)})
				}
			}
		}
		f.store(t)
		rows := int64(n * len(users))
		return (p.hotBytes() - hot) / rows, int64(storedBytes(t, p)-bytes) / rows
	}
	for _, c := range []struct {
		what          string
		users         []string
		memory, store int64 // at most, each
	}{
		{"a thread and a row in it", users[:1], 720, 60}, // half of the last chunk of memory is free
		{"a further row", users[1:], 220, 60},
	} {
		memory, store := unfollow(c.users...)
		t.Logf("%s: %d bytes of memory, %d of the store", c.what, memory, store)
		if memory > c.memory || store > c.store {
			t.Errorf("%s: %d bytes of memory, %d of the store; at most %d and %d are said", c.what, memory, store, c.memory, c.store)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}

	p = mustOpen(t, fs, testIdentity())
	defer p.Close()
	f.p = p
	f.post("channel-0001", "reply", "anna", thread(7))
	f.post("channel-0001", "own reply", users[0], thread(7))
	f.store(t)
	if v, ok := p.Thread(users[0], "channel-0001", thread(7)); ok && v.Following {
		t.Errorf("after a restart an own reply follows what was unfollowed: %+v", v)
	}
	if v, ok := p.Thread("anna", "channel-0001", thread(7)); !ok || !v.Following {
		t.Errorf("the author of the root, who did not unfollow, does not follow: %+v", v)
	}
	f.remove("channel-0001")
	f.store(t)
	f.join("other", "anna")
	f.store(t)
	if left := storedBytes(t, p); left > 1000 || p.Stats().Pairs != 1 {
		t.Errorf("after the channel was deleted %d bytes are left in the store, and %+v", left, p.Stats())
	}
}
