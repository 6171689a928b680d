package projections_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// TestPropertyListing: a store that does not fit into memory is opened, and its cold channels are
// listed while events are folded, in any order. At any time it answers about channels as the model
// does, and about users once it is listed; and it has the bytes of a partition with all in memory.
func TestPropertyListing(t *testing.T) {
	asked, listed, named, trimmed := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		fs := [...]vfs.FS{vfs.NewMem(), vfs.NewMem()}
		memory := int64(1)
		settings := projections.DefaultSettings()
		settings.FanoutLimit = 4
		s := listingScript{messages: map[string]int{}, channels: 12, step: 1}
		if settings.TrimLog = rapid.Bool().Draw(t, "trim log"); settings.TrimLog {
			s.channels, s.step, settings.IndexRetention = 3, 24*3600*1000, 1000
		}
		small, large := openSmall(t, fs[0], settings, &memory, true), open(t, fs[1], settings)
		defer func() { closePartition(t, small); closePartition(t, large) }()
		m := model.New(settings)
		output := newPublished()
		list := func(n int) {
			if listSome(t, small, n) {
				listed++
			}
		}
		check := func(at string) {
			t.Helper()
			output.both(t, small, large, m, at)
			if small.Listed() {
				of := &model.WithCold{Partition: small}
				defer of.Close()
				if d := m.Diff(of); d != "" {
					t.Fatalf("%s:\n%s", at, d)
				}
				return
			}
			asked++
			sameViews(t, small, large, m, at)
		}
		for range rapid.IntRange(1, 6).Draw(t, "openings") {
			for range rapid.IntRange(0, 30*12/s.channels).Draw(t, "records") {
				r := s.draw(t)
				if rapid.Bool().Draw(t, "fetch") {
					if err := small.Fetch([][]byte{r.Key(), []byte("nowhere")}); err != nil {
						t.Fatal(err)
					}
				}
				if !small.Listed() {
					named++
				}
				r.Fold(small)
				r.Fold(large)
				r.AddTo(m)
				if n := rapid.IntRange(-2, 2).Draw(t, "list"); n > 0 {
					list(n)
				}
				switch rapid.IntRange(0, 9).Draw(t, "then") {
				case 0:
					check(fmt.Sprintf("after %d records", s.offsets))
				case 1, 2:
					output.both(t, small, large, m, "before a cut")
					cut(t, small)
					cut(t, large)
				}
			}
			if rapid.Bool().Draw(t, "list all") {
				list(1000)
			}
			check("at the end")
			cut(t, small)
			cut(t, large)
			check("after the cut")
			_, of := small.ColdLogs()
			trimmed += of
			if a, b := dump(t, small), dump(t, large); a != b {
				t.Fatalf("the bytes differ with a memory of few channels:\n%s\nand of all:\n%s", a, b)
			}
			closePartition(t, small)
			small = openSmall(t, fs[0], settings, &memory, true)
			check("opened again")
		}
	})
	t.Logf("asked %d times before all was listed, %d times listed, %d records meanwhile, %d cold channels with trimmed logs", asked, listed, named, trimmed)
	if asked == 0 || listed == 0 || named == 0 || trimmed == 0 && !testing.Short() {
		t.Error("everything was listed at once, or no channel had a trimmed log")
	}
}

// listSome lists up to n cold channels, and reports whether there were any to list.
func listSome(t rapid.TB, p *projections.Partition, n int) bool {
	t.Helper()
	before := p.Listed()
	more, err := p.List(n)
	if err != nil || more == p.Listed() || before && more {
		t.Fatalf("%v listed: more %v, %v", before, more, err)
	}
	return !before
}

// sameViews compares all views of a partition that is not listed with those of one that has everything
// in memory.
func sameViews(t rapid.TB, small, large *projections.Partition, m *model.Model, at string) {
	t.Helper()
	for _, ch := range append(m.Channels(), "nowhere") {
		of := &model.WithCold{Partition: small}
		for _, user := range m.Users() {
			v, ok := of.View(user, ch)
			if want, is := large.View(user, ch); ok != is || !reflect.DeepEqual(v, want) {
				t.Fatalf("%s, not listed: %s in %s: %v %+v, want %v %+v", at, user, ch, ok, v, is, want)
			}
			if !small.MayKnow(projections.UserHash(user)) {
				t.Fatalf("%s, not listed: nothing of %s", at, user)
			}
		}
		of.Close()
	}
}

// listingScript draws records of channels most of which are plain.
type listingScript struct {
	offsets  [events.NumInputs]int64
	messages map[string]int // by channel
	channels int
	step     int64 // between two records, in milliseconds
}

func (s *listingScript) draw(t *rapid.T) script.Record {
	channel := fmt.Sprintf("c%d", rapid.IntRange(0, s.channels-1).Draw(t, "channel"))
	user := func() []byte { return fmt.Appendf(nil, "u%d", rapid.IntRange(0, 5).Draw(t, "user")) }
	message := func() []byte {
		return fmt.Appendf(nil, "m%03d", rapid.IntRange(0, s.messages[channel]+1).Draw(t, "message"))
	}
	at := (s.offsets[0] + s.offsets[1] + s.offsets[2] + 1) * s.step
	write := func(e events.Message) script.Record {
		e.ChannelID, e.OccurredAt = []byte(channel), at
		r := script.Record{Input: events.Messages, Offset: s.offsets[0], Timestamp: at, Message: &e}
		s.offsets[0]++
		return r
	}
	read := func(e events.Read) script.Record {
		e.ChannelID, e.OccurredAt, e.UserID = []byte(channel), at, user()
		r := script.Record{Input: events.Reads, Offset: s.offsets[1], Timestamp: at, Read: &e}
		s.offsets[1]++
		return r
	}
	post := func(mentions ...[]byte) script.Record {
		s.messages[channel]++
		return write(events.Message{Kind: events.KindMessagePosted, MessageID: fmt.Appendf(nil, "m%03d", s.messages[channel]), SenderID: user(), IDs: mentions})
	}
	if s.channels == 3 && rapid.IntRange(0, 2).Draw(t, "post") > 0 {
		return post()
	}
	switch rapid.IntRange(0, 18).Draw(t, "event") {
	case 0, 1, 2, 3:
		return write(events.Message{Kind: events.KindMembersJoined, IDs: [][]byte{user()}})
	case 4, 5, 6, 7:
		return post()
	case 8:
		return post(user())
	case 9:
		return write(events.Message{Kind: events.KindMembersLeft, IDs: [][]byte{user()}})
	case 10:
		return write(events.Message{Kind: events.KindMessageDeleted, MessageID: message()})
	case 11:
		if rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
			return write(events.Message{Kind: events.KindChannelDeleted})
		}
		return read(events.Read{Kind: events.KindUserErased})
	case 12:
		return read(events.Read{Kind: events.KindChannelMuted, Muted: rapid.Bool().Draw(t, "muted")})
	case 13, 14:
		if s.channels < 12 {
			r := script.Record{Input: events.Deliveries, Offset: s.offsets[2], Timestamp: at,
				Delivery: &events.Delivery{Kind: events.KindDelivered, ChannelID: []byte(channel), UserID: user(), OccurredAt: at, MessageID: message()}}
			s.offsets[2]++
			return r
		}
		fallthrough
	default:
		return read(events.Read{Kind: events.KindReadUpTo, Target: events.TargetMessageID, MessageID: message()})
	}
}
