package projections

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
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
				defer r.Close()
				_, err := r.Load()
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
