package projections

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/loading"
)

// openIn opens the store of a file system with the memory to use.
func openIn(t *testing.T, fs vfs.FS, memory *int64, later bool) *Partition {
	t.Helper()
	p, err := Open("store", Identity{ClusterID: "c", Partitions: 1, Settings: DefaultSettings()}, Options{FS: fs, Memory: func() int64 { return *memory }, ListLater: later})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// foldNext folds the next record of chat.messages.
func foldNext(p *Partition, m events.Message) {
	m.OccurredAt = 1
	p.FoldMessage(&m, p.rules.Positions[events.Messages], 1)
}

// TestOpeningGuessesWhatFits: of a store that needs several times its memory, opening loads few
// channels. Of one that fits, it loads all.
func TestOpeningGuessesWhatFits(t *testing.T) {
	const channels = 2000
	memory, later := int64(0), false
	fs := vfs.NewMem()
	reopen := func() *Partition { return openIn(t, fs, &memory, later) }
	p := reopen()
	for i := range channels {
		m := events.Message{Kind: events.KindMembersJoined, ChannelID: fmt.Appendf(nil, "c%d", i)}
		for u := range 10 {
			m.IDs = append(m.IDs, fmt.Appendf(nil, "u%d", (7*i+u)%5000))
		}
		foldNext(p, m)
		foldNext(p, events.Message{Kind: events.KindMessagePosted, ChannelID: m.ChannelID, MessageID: []byte("m"), SenderID: m.IDs[0]})
	}
	p.Drain(nil, true)
	mustCut(t, p)
	whole := loading.InUse(&p.rules.State)
	for _, c := range []struct {
		room     int64
		from, to int // channels that are loaded
	}{{whole / 4, channels / 100, channels / 10}, {whole + whole/10, channels, channels}} {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		memory = c.room
		p = reopen()
		s := p.Stats()
		if hot := s.Channels - s.ColdChannels; s.Channels != channels || hot < c.from || hot > c.to {
			t.Errorf("with %d bytes for %d: %d of %d channels are loaded, want %d to %d", c.room, whole, hot, s.Channels, c.from, c.to)
		}
	}
	// Sizes are right while cold channels are listed, also if memory was filled first.
	for _, room := range []int64{1, whole / 4, whole - whole/5} {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		memory, later = room, true
		p = reopen()
		if p.Listed() {
			t.Errorf("with %d bytes for %d everything is listed at once", room, whole)
		}
		for more := true; more; {
			if s := p.Stats(); s.Channels != channels || s.Pairs != 10*channels || s.ColdPairs != 10*s.ColdChannels || s.ColdChannels == 0 {
				t.Fatalf("with %d bytes for %d: %+v", room, whole, s)
			}
			var err error
			if more, err = p.List(300); err != nil {
				t.Fatal(err)
			}
		}
		if s := p.Stats(); s.Channels != channels || s.Users != 5000 {
			t.Errorf("listed: %+v", s)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUsersLeaveWithTheirChannels: a user of cold channels only is not in memory, but known and
// counted. They come back with a channel, and leave with it again.
func TestUsersLeaveWithTheirChannels(t *testing.T) {
	const channels, users = 40, 50
	memory := int64(0)
	fs := vfs.NewMem()
	open := func() *Partition { return openIn(t, fs, &memory, false) }
	p := open()
	fold := func(m events.Message) { foldNext(p, m) }
	id := func(i int) []byte { return fmt.Appendf(nil, "c%d", i) }
	rest := func() {
		p.Drain(nil, true)
		for range 4 { // a channel that was used gets a second chance
			mustCut(t, p)
		}
	}
	for i := range channels {
		m := events.Message{Kind: events.KindMembersJoined, ChannelID: id(i)}
		for u := range 5 {
			m.IDs = append(m.IDs, fmt.Appendf(nil, "u%d", (3*i+u)%users))
		}
		fold(m)
		fold(events.Message{Kind: events.KindMessagePosted, ChannelID: id(i), MessageID: []byte("m1"), SenderID: m.IDs[0]})
	}
	check := func(when string, want, hot int) {
		t.Helper()
		known := 0
		for u := range users + 3 {
			if p.MayKnow(UserHash(fmt.Sprintf("u%d", u))) {
				known++
			}
		}
		if s := p.Stats(); s.Users != want || known != want || p.rules.Users.Len() != hot {
			t.Errorf("%s: %d users, %d known, %d in memory; want %d, %d of them in memory", when, s.Users, known, p.rules.Users.Len(), want, hot)
		}
	}
	check("all in memory", users, users)
	memory = 1
	rest()
	check("all cold", users, 0)
	fold(events.Message{Kind: events.KindMessagePosted, ChannelID: id(2), MessageID: []byte("m2"), SenderID: []byte("u6")})
	check("a channel came back", users, 5)
	fold(events.Message{Kind: events.KindMembersJoined, ChannelID: id(2), IDs: [][]byte{[]byte("u50")}})
	check("a new user there", users+1, 6)
	rest()
	check("all cold again", users+1, 0)
	fold(events.Message{Kind: events.KindMessagePosted, ChannelID: id(3), MessageID: []byte("m2"), SenderID: []byte("u9")})
	rest()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = open()
	check("opened with little memory", users+1, 0)
	fold(events.Message{Kind: events.KindChannelDeleted, ChannelID: id(2)})
	rest()
	check("the channel of the new user deleted", users, 0)
	if n := p.rules.UsersInBoth; n != 0 {
		t.Errorf("%d users are in both places, and none is in memory", n)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestListingBesideACut: cold channels are listed while a cut is applied, one of them deleted.
func TestListingBesideACut(t *testing.T) {
	memory := int64(0)
	fs := vfs.NewMem()
	open := func() *Partition { return openIn(t, fs, &memory, true) }
	p := open()
	fold := func(m events.Message) { foldNext(p, m) }
	id := func(i int) []byte { return fmt.Appendf(nil, "c%03d", i) }
	for i := range 200 {
		fold(events.Message{Kind: events.KindMembersJoined, ChannelID: id(i), IDs: [][]byte{fmt.Appendf(nil, "u%d", i%7)}})
	}
	mustCut(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	memory = 1
	p = open()
	deleted := 0
	for more := true; more && deleted < 10; deleted++ {
		fold(events.Message{Kind: events.KindChannelDeleted, ChannelID: id(20*deleted + 10)}) // is listed next
		mustCut(t, p)                                                                         // it leaves memory
		fold(events.Message{Kind: events.KindMembersJoined, ChannelID: id(0), IDs: [][]byte{fmt.Appendf(nil, "v%d", deleted)}})
		p.Drain(nil, true)
		c, err := p.Cut()
		if err != nil {
			t.Fatal(err)
		}
		applied := make(chan error)
		go func() { applied <- c.Apply() }()
		if more, err = p.List(20); err != nil {
			t.Fatal(err)
		}
		if err := <-applied; err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.List(1000); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Channels != 200-deleted {
		t.Errorf("%d channels of 200 with %d deleted", s.Channels, deleted)
	}
	for i := range 7 {
		r := p.ColdOf(fmt.Sprintf("u%d", i))
		part, err := r.Load()
		if err != nil {
			t.Fatal(err)
		}
		for c := range 200 {
			if _, ok := part.Channel(string(id(c))); ok && c%20 == 10 {
				t.Errorf("u%d has channel %d, which is deleted", i, c)
			}
		}
		r.Close()
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
