package gateway

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/internal/alarm"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A device learns within a second that a level has ended, and gets the new totals with it.
func TestALevelThatEnds(t *testing.T) {
	testkit.AtMost(t, "told after the end", time.Second, func() time.Duration { return aLevelEnds(t) })
}

// aLevelEnds returns how long after its end a level's device learned of it.
func aLevelEnds(t *testing.T) time.Duration {
	g := bare()
	go g.alarms.Run(t.Context())
	u := g.someone("ann")
	d := g.device(t, u)
	until := time.Now().Add(2 * time.Second)
	delta := &events.UnreadDelta{
		ChannelID: []byte("general"), Member: true, Unread: 3, Mentions: 1, Muted: true, Level: events.LevelNone,
		LevelAfter: events.LevelMentions, Until: until.UnixMilli(), Stamp: events.Stamp{FoldVersion: 1, M: 9},
	}
	u.hub.mu.With(func() { g.applyDelta(u, delta) })
	f := d.last(t)
	if f["level"] != "NONE" || f["level_after"] != "MENTIONS" || f["muted"] != true || f["until"] == nil || frame2(f, "totals", "badge") != 0.0 {
		t.Fatalf("muted for a while: %v", f)
	}
	testkit.Await(t, "the badge counts again", func() bool { return frame2(d.last(t), "totals", "badge") == 1.0 })
	late := time.Since(until)
	f = d.last(t)
	at, err := time.Parse(time.RFC3339, fmt.Sprint(frame2(f, "totals", "evaluated_at")))
	if f["level"] != "MENTIONS" || f["muted"] != false || f["until"] != nil || frame2(f, "totals", "unread") != 3.0 {
		t.Errorf("after it: %v", f)
	}
	if err == nil && at.Before(until.Truncate(time.Millisecond)) {
		t.Errorf("the totals are of %v, before %v", at, until)
	}
	delta.Until, delta.LevelAfter, delta.Stamp.R = 0, 0, 1
	u.hub.mu.With(func() { g.applyDelta(u, delta) })
	if f = d.last(t); f["level"] != "NONE" || frame2(f, "totals", "evaluated_at") != nil {
		t.Errorf("muted for good: %v", f)
	}
	if g.alarms.Len() != 0 {
		t.Errorf("%d alarms are left", g.alarms.Len())
	}
	return late
}

// last returns the newest frame that is queued for a device.
func (c *conn) last(t *testing.T) (f map[string]any) {
	t.Helper()
	c.user.hub.mu.With(func() {
		if list := c.waiting(t); len(list) > 0 {
			f = list[len(list)-1]
		}
	})
	return f
}

// 100,000 levels with an end cost one timer, and their ends are sent within a second.
func TestManyLevelsThatEnd(t *testing.T) {
	const users, channels = 500, 200
	g := bare()
	before := runtime.NumGoroutine()
	go g.alarms.Run(t.Context())
	far := time.Now().Add(time.Hour)
	var devices []*conn
	mute := func(u *user, c int, until time.Time, r int64) {
		g.applyDelta(u, &events.UnreadDelta{
			ChannelID: fmt.Appendf(nil, "c%d", c), Member: true, Unread: 1, Level: events.LevelNone, Until: until.UnixMilli(),
			Stamp: events.Stamp{FoldVersion: 1, M: 9, R: r},
		})
	}
	for i := range users {
		u := g.someone(fmt.Sprint("user", i))
		if i%50 == 0 {
			devices = append(devices, g.device(t, u))
		}
		u.hub.mu.With(func() {
			for c := range channels {
				mute(u, c, far, 0)
			}
		})
	}
	if n := g.alarms.Len(); n != users {
		t.Errorf("%d alarms for %d users with %d levels that end", n, users, users*channels)
	}
	if more := runtime.NumGoroutine() - before; more > 2 {
		t.Errorf("%d goroutines more", more)
	}
	reported := int64(0)
	testkit.AtMost(t, "the last of 5,000 levels told after its end", time.Second, func() time.Duration {
		soon := time.Now().Add(time.Second)
		reported++
		for i := range users {
			u := g.hubs.list[0].users[fmt.Sprint("user", i)]
			u.hub.mu.With(func() {
				for c := 0; c < channels; c += 20 {
					mute(u, c, soon, reported)
				}
			})
		}
		for _, d := range devices {
			testkit.Await(t, "the badge counts them again", func() bool {
				var badge uint64
				d.user.hub.mu.With(func() { badge = d.user.totals.Badge })
				return badge == channels/20
			})
		}
		return time.Since(soon)
	})
}

// After any deltas and at any time, the totals are the sums of the channels and threads at one
// moment.
func TestTotalsAreTheSumOfTheirParts(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	var clock atomic.Int64
	clock.Store(1_000_000)
	g := bare()
	g.cfg.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
	g.alarms = alarm.New(g.cfg.Now, g.ring)
	g.hubs = newHubs(1, g.alarms)
	u := g.someone("ann")
	u.hub = g.hubs.list[0]
	d := g.device(t, u)
	level := func() events.Level { return events.Level(r.IntN(3)) }
	for step := range int64(5_000) {
		clock.Add(r.Int64N(20))
		id := fmt.Appendf(nil, "c%d", r.IntN(6))
		delta := &events.UnreadDelta{
			ChannelID: id, Member: r.IntN(12) > 0, Unread: uint32(r.IntN(4)), Stamp: events.Stamp{FoldVersion: 1, M: step, R: step},
			ReadEpoch: 1, Level: level(),
		}
		delta.Mentions = min(delta.Unread, uint32(r.IntN(3)))
		switch r.IntN(5) {
		case 0: // a thread
			delta.ThreadID, delta.Level = []byte{'t', byte('0' + r.IntN(3))}, 0
			u.hub.mu.With(func() { g.applyThread(u, delta) })
		case 1: // a record of the channel
			u.hub.mu.With(func() {
				g.applyChannel(u.hub, &events.ChannelRecord{
					ChannelID: id, HeadPos: uint32(step/100) + uint32(r.IntN(3)), Archived: r.IntN(4) == 0, Stamp: events.Stamp{FoldVersion: 1, M: step},
				})
			})
		default:
			if r.IntN(3) == 0 {
				delta.Until, delta.LevelAfter = clock.Load()+r.Int64N(60)-10, level()
			}
			delta.Muted = delta.Level == events.LevelNone
			delta.Flagged = r.IntN(4) == 0
			if r.IntN(4) == 0 {
				delta.Filed = events.Filed{Is: true, Keep: r.IntN(4) == 0, Pos: uint32(step/100) + uint32(r.IntN(3))}
			}
			u.hub.mu.With(func() { g.applyDelta(u, delta) })
		}
		if r.IntN(10) == 0 {
			g.ring(u)
		}
		var at int64
		u.hub.mu.With(func() { at = g.judge(u) })
		if at == 0 {
			at = clock.Load()
		}
		want := naive(u, at)
		if u.totals != want {
			t.Fatalf("seed %d, step %d: %+v, want %+v", seed, step, u.totals, want)
		}
		d.DropValues()
	}
}

// naive adds up a user's counts at a time, by the definitions of DESIGN §4.7.
func naive(u *user, at int64) (t view.Totals) {
	for id, e := range u.entries {
		if e.ch == nil {
			continue
		}
		v := e.view
		level := v.Level
		if v.Until() > 0 && v.Until() <= at {
			level = v.Details.LevelAfter
		}
		filed := v.Filed()
		archived := e.ch.whole.Archived || filed.Is && (e.ch.Record == nil || filed.Keep || e.ch.Record.HeadPos <= filed.Pos)
		if archived {
			if v.Unread > 0 || v.Flagged() {
				t.ArchivedChannels++
			}
			t.ArchivedMentions += uint64(v.Mentions)
			continue
		}
		if v.Flagged() {
			t.Flagged++
		}
		if level == events.LevelNone {
			continue
		}
		numbers := []*view.View{&v}
		for s, th := range u.threads {
			if s.channel == id && th.view.Member {
				numbers = append(numbers, &th.view)
				t.ThreadUnread += uint64(th.view.Unread)
				t.ThreadMentions += uint64(th.view.Mentions)
				if th.view.Unread > 0 {
					t.Threads++
				}
			}
		}
		t.Unread += uint64(v.Unread)
		t.Mentions += uint64(v.Mentions)
		if v.Unread > 0 || v.Flagged() {
			t.Channels++
		}
		var counts []uint64
		for _, n := range numbers {
			if level == events.LevelMentions {
				counts = append(counts, uint64(n.Mentions))
			} else {
				counts = append(counts, uint64(n.Unread))
			}
		}
		if v.Flagged() {
			counts[0] = max(counts[0], 1)
		}
		for n := range slices.Values(counts) {
			t.Badge += n
		}
	}
	return t
}
