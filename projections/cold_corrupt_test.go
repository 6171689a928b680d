package projections

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/giveway"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// TestMissingRecordsOfAColdChannel: if the store has lost a record of a cold channel, no event and
// no query takes the channel for an empty one, and the partition fails.
func TestMissingRecordsOfAColdChannel(t *testing.T) {
	var kb [keys.Buf]byte
	for name, lost := range map[string][]byte{
		"the channel": keys.AppendHot(kb[:0:0], []byte("c"), keys.HotChannel),
		"the members": keys.AppendPage(kb[:0:0], []byte("c"), 0),
	} {
		for by, touch := range map[string]func(*Partition) error{
			"a query": func(p *Partition) error {
				r := p.ColdChannel("c")
				defer r.Close()
				_, err := r.Load()
				return err
			},
			"an inbox": func(p *Partition) error {
				r := p.ColdOf("ann")
				if !giveway.Wanted() {
					t.Error("nobody gives way to the query")
				}
				_, err := r.Load()
				if r.Close(); giveway.Wanted() {
					t.Error("the query is over, and still wants a core")
				}
				return err
			},
			"a batch": func(p *Partition) error { return p.Fetch([][]byte{[]byte("c")}) },
			"an event": func(p *Partition) error {
				p.FoldMessage(&events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte("m2"), SenderID: []byte("ann"), OccurredAt: 2}, 2, 2)
				return p.Err()
			},
		} {
			t.Run(fmt.Sprintf("%s, %s", name, by), func(t *testing.T) {
				p, err := Open("store", Identity{ClusterID: "c", Partitions: 1, Settings: DefaultSettings()}, Options{FS: vfs.NewMem(), Memory: func() int64 { return 1 }})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				p.FoldMessage(&events.Message{Kind: events.KindMembersJoined, ChannelID: []byte("c"), IDs: [][]byte{[]byte("ann")}, OccurredAt: 1}, 0, 1)
				p.FoldMessage(&events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte("m1"), SenderID: []byte("ann"), OccurredAt: 1}, 1, 1)
				p.Drain(nil, true)
				for range 2 {
					c, err := p.Cut()
					if err == nil {
						err = c.Apply()
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if !p.IsCold("c") {
					t.Fatal("the channel is not cold")
				}
				if err := p.db.Delete(lost, pebble.NoSync); err != nil {
					t.Fatal(err)
				}
				if err := touch(p); err == nil || !strings.Contains(err.Error(), "missing") {
					t.Errorf("the error is %v, want one of a missing record", err)
				}
				if p.Err() == nil {
					t.Error("the partition goes on")
				}
			})
		}
	}
}

// TestOpeningLeavesChannelsInTheStore: a store that does not fit into memory is opened without
// loading its channels, but for those in which something waits. A record that is lost is noticed, and
// makes the store corrupt.
func TestOpeningLeavesChannelsInTheStore(t *testing.T) {
	const channels, members, messages = 20, 70, 40 // more than a page of members and a block of messages
	memory, later := int64(0), false
	fs, settings := vfs.NewMem(), DefaultSettings()
	settings.ReceiptLimit = members // larger channels have one more record
	reopen := func() (*Partition, error) {
		return Open("store", Identity{ClusterID: "c", Partitions: 1, Settings: settings}, Options{FS: fs, Memory: func() int64 { return memory }, ListLater: later})
	}
	p, err := reopen()
	if err != nil {
		t.Fatal(err)
	}
	offset := int64(0)
	post := func(m *events.Message) {
		m.OccurredAt = offset + 1
		p.FoldMessage(m, offset, offset+1)
		offset++
	}
	for c := range channels {
		id := fmt.Appendf(nil, "c%d", c)
		var joined [][]byte
		for m := range members {
			joined = append(joined, fmt.Appendf(nil, "u%d", (7*c+m)%100))
		}
		post(&events.Message{Kind: events.KindMembersJoined, ChannelID: id, IDs: joined})
		for m := range messages {
			post(&events.Message{Kind: events.KindMessagePosted, ChannelID: id, MessageID: fmt.Appendf(nil, "m%d", m), SenderID: joined[m%5]})
		}
		p.FoldRead(&events.Read{Kind: events.KindReadUpTo, ChannelID: id, UserID: joined[2], Target: events.TargetMessageID, MessageID: []byte("m9"), OccurredAt: 5}, int64(c), 5)
	}
	p.FoldRead(&events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("c3"), UserID: []byte("u60"), Target: events.TargetMessageID, MessageID: []byte("not yet"), OccurredAt: 5}, channels, 5)
	p.Drain(nil, true)
	c, err := p.Cut()
	if err == nil {
		err = c.Apply()
	}
	if err = errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	views := func(p *Partition) string {
		var s strings.Builder
		p.RLock()
		defer p.RUnlock()
		for u := range 100 {
			user := fmt.Sprintf("u%d", u)
			read, part := p.ColdOf(user), p
			if read != nil {
				defer read.Close()
				if part, err = read.Load(); err != nil {
					t.Fatal(err)
				}
			}
			for c := range channels {
				if ((u-7*c)%100+100)%100 >= members {
					continue
				}
				id := fmt.Sprintf("c%d", c)
				of := part
				if !p.IsCold(id) {
					of = p
				}
				v, ok := of.View(user, id)
				fmt.Fprintln(&s, user, id, ok, v)
			}
		}
		return s.String()
	}
	p, err = reopen()
	if err != nil {
		t.Fatal(err)
	}
	all, want := p.Stats(), views(p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	memory = 1
	if p, err = reopen(); err != nil {
		t.Fatal(err)
	}
	s := p.Stats()
	if s.ColdChannels != channels-1 || p.IsCold("c3") || s.Channels != all.Channels || s.Pairs != all.Pairs || s.Users != all.Users || p.rules.Channels.End() > 3 {
		t.Errorf("%+v after opening with little memory, with room for %d channels; with all: %+v", s, p.rules.Channels.End(), all)
	}
	if got := views(p); got != want {
		t.Errorf("views from the store:\n%s\nfrom memory:\n%s", got, want)
	}
	if err := p.db.Delete(keys.AppendLog(nil, []byte("c2"), 1), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for by, touch := range map[string]func(){
		"a query": func() {
			r := p.ColdChannel("c2")
			_, _ = r.Load()
			r.Close()
		},
		"a batch": func() { _ = p.Fetch([][]byte{[]byte("c2")}) },
		"an event": func() {
			post(&events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c2"), MessageID: []byte("new"), SenderID: []byte("u20")})
		},
	} {
		if p, err = reopen(); err != nil {
			t.Fatal(err)
		}
		if touch(); !IsCorrupt(p.Err()) {
			t.Errorf("%s: a missing block of messages has the error %v", by, p.Err())
		}
		_ = p.Close()
	}
	if p, err = reopen(); err != nil {
		t.Fatal(err)
	}
	if err := p.db.DeleteRange(keys.AppendHot(nil, []byte("c1"), 0), keys.AppendHot(nil, []byte("c1"), 255), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, later = range []bool{false, true} {
		var corrupt *CorruptError
		if p, err = reopen(); !errors.As(err, &corrupt) {
			t.Errorf("opened without a channel, listed later %v: %v %v", later, p, err)
		}
	}
}
