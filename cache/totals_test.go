package cache

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/events"
)

// view applies deltas and records, and reads all of user "u" as of a time.
func view(t *testing.T, rdb *redis.Client, at int64, deltas []*events.UnreadDelta, channels ...*events.ChannelRecord) *View {
	t.Helper()
	rdb.Set(t.Context(), epochKey, formatOf(rdb).String()+"e", 0)
	w := own(t, rdb)
	w.apply(t, deltas...)
	w.applyChannels(t, channels...)
	v, err := NewReader(rdb).At(time.UnixMilli(at)).View(t.Context(), "u")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func channelOfView(t *testing.T, v *View, id string) *Entry {
	t.Helper()
	i := slices.IndexFunc(v.Channels, func(e Entry) bool { return e.ChannelID == id })
	if i < 0 {
		t.Fatalf("channel %q is not in %+v", id, v.Channels)
	}
	return &v.Channels[i]
}

// A level holds until its time by the clock of the reader. From then on the next level applies.
func TestLevelsAreJudgedByTheReader(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		d := small("u", "c", 7, 1)
		d.Muted, d.Level, d.Until, d.LevelAfter = true, events.LevelNone, t0, events.LevelMentions
		thread := inThread(small("u", "c", 5, 1), "t")
		deltas := []*events.UnreadDelta{d, thread}
		before := view(t, rdb, t0-1, deltas)
		if e := channelOfView(t, before, "c"); e.Levels != (events.Levels{Level: events.LevelNone, Until: t0, After: events.LevelMentions}) || !e.Muted {
			t.Errorf("before: %+v", e)
		}
		if before.Totals != (Totals{}) || !before.EvaluatedAt.Equal(time.UnixMilli(t0-1)) {
			t.Errorf("before: totals %+v at %v", before.Totals, before.EvaluatedAt)
		}
		after := view(t, rdb, t0, deltas)
		if e := channelOfView(t, after, "c"); e.Levels != (events.Levels{Level: events.LevelMentions}) || e.Muted {
			t.Errorf("after: %+v", e)
		}
		if e := after.Threads[0]; e.Levels.Level != events.LevelMentions || e.Muted {
			t.Errorf("its thread: %+v", e)
		}
		if want := (Totals{Unread: 7, Mentions: 1, UnreadChannels: 1, ThreadUnread: 5, ThreadMentions: 1, UnreadThreads: 1, Badge: 2}); after.Totals != want {
			t.Errorf("after: totals %+v, want %+v", after.Totals, want)
		}
		if e, err := NewReader(rdb).Unread(t.Context(), "u", "c"); err != nil || e.Levels != (events.Levels{Level: events.LevelMentions}) {
			t.Errorf("by this machine's clock, long after: %+v, %v", e, err)
		}
	})
}

// A filed channel is archived until a message comes: while the head is at the position in the
// delta, forever with keep, and for everybody if its record states so.
func TestArchivedByTheReader(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		filed := func(id string, keep bool, pos uint32) *events.UnreadDelta {
			d := small("u", id, 7, 1)
			d.Filed = events.Filed{Is: true, Keep: keep, Pos: pos}
			return d
		}
		flagged := filed("flagged", true, 0)
		flagged.Unread, flagged.Mentions, flagged.Flagged = 0, 0, true
		ask := large("u", "ask", 1)
		ask.Ask, ask.Filed = true, events.Filed{Is: true, Pos: 1<<32 - 1}
		of := func(id string, pos uint32, archived bool) *events.ChannelRecord {
			c := head(id, 9, pos+1)
			c.Archived = archived
			return c
		}
		v := view(t, rdb, t0, []*events.UnreadDelta{
			filed("still", false, 9), filed("back", false, 8), filed("kept", true, 8), filed("lost", false, 9), flagged, small("u", "all", 7, 1), small("u", "plain", 7, 1), ask,
			inThread(small("u", "still", 3, 1), "a"), inThread(small("u", "back", 3, 1), "b"),
		}, of("still", 9, false), of("back", 9, false), of("kept", 9, false), of("flagged", 9, false), of("all", 9, true), of("ask", 9, false))
		got := map[string]bool{}
		for _, e := range v.Channels {
			got[e.ChannelID] = e.Archived
			if e.Known == (e.ChannelID == "lost" || e.ChannelID == "ask") {
				t.Errorf("%s: known %v", e.ChannelID, e.Known)
			}
		}
		for _, e := range v.Threads {
			got[e.ChannelID+"/"+e.ThreadID] = e.Archived
		}
		want := map[string]bool{"still": true, "back": false, "kept": true, "lost": false, "flagged": true, "all": true, "plain": false, "ask": false, "still/a": true, "back/b": false}
		if !maps.Equal(got, want) {
			t.Errorf("archived %v, want %v", got, want)
		}
		wantTotals := Totals{
			Unread: 14, Mentions: 2, UnreadChannels: 2, ThreadUnread: 3, ThreadMentions: 1, UnreadThreads: 1, Badge: 17,
			ArchivedChannels: 4, ArchivedMentions: 3, Unknown: 2,
		}
		if v.Totals != wantTotals {
			t.Errorf("totals %+v, want %+v", v.Totals, wantTotals)
		}
	})
}

// A channel counts under its own labels and the user's, and so do its threads.
func TestTotalsByLabel(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		mine, both := small("u", "mine", 7, 1), small("u", "both", 3, 1)
		mine.Labels, both.Labels = [][]byte{[]byte("x")}, [][]byte{[]byte("x")}
		both.Flagged, both.Unread, both.Mentions = true, 0, 0
		c := head("both", 9, 21)
		c.Labels = [][]byte{[]byte("team"), []byte("x")}
		v := view(t, rdb, t0, []*events.UnreadDelta{mine, both, small("u", "none", 1, 1), inThread(small("u", "both", 5, 1), "t")}, c)
		if e := channelOfView(t, v, "both"); !slices.Equal(e.Labels, []string{"team", "x"}) || !slices.Equal(e.OwnLabels, []string{"x"}) || !e.Flagged {
			t.Errorf("%+v", e)
		}
		team := Totals{UnreadChannels: 1, ThreadUnread: 5, ThreadMentions: 1, UnreadThreads: 1, Badge: 6, Flagged: 1}
		x := team
		x.Unread, x.Mentions, x.UnreadChannels, x.Badge = 7, 1, 2, 13
		if want := map[string]Totals{"team": team, "x": x}; !maps.Equal(v.TotalsByLabel, want) {
			t.Errorf("got %+v, want %+v", v.TotalsByLabel, want)
		}
		if want := (Totals{Unread: 8, Mentions: 2, UnreadChannels: 3, ThreadUnread: 5, ThreadMentions: 1, UnreadThreads: 1, Badge: 14, Flagged: 1}); v.Totals != want {
			t.Errorf("totals %+v, want %+v", v.Totals, want)
		}
	})
}

// A reader derives the counts of a large channel with the user's settings: direct mentions apart
// from mentions of everybody, and nothing if the delta says Ask.
func TestLargeChannelOfTheReader(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		named := func(id string, ignore, ask bool) *events.UnreadDelta {
			d := large("u", id, 10)
			d.Mentioned, d.IgnoreAll, d.Ask, d.Level = []uint32{12, 14}, ignore, ask, events.LevelNone
			return d
		}
		of := func(id string) *events.ChannelRecord {
			c := head(id, 9, 21)
			c.Holes, c.Alls = nil, []uint32{13, 14}
			return c
		}
		v := view(t, rdb, t0, []*events.UnreadDelta{named("c", false, false), named("ignores", true, false), named("asks", false, true)},
			of("c"), of("ignores"), of("asks"))
		for id, want := range map[string]events.Counts{"c": {Unread: 10, Mentions: 3, Direct: 2}, "ignores": {Unread: 10, Mentions: 2, Direct: 2}, "asks": {}} {
			e := channelOfView(t, v, id)
			if got := (events.Counts{Unread: e.Unread, Mentions: e.Mentions, Direct: e.DirectMentions}); got != want || e.Known == e.Ask {
				t.Errorf("%s: %+v, known %v; want %+v", id, got, e.Known, want)
			}
		}
		if v.Totals != (Totals{}) {
			t.Errorf("of muted channels, known or not, totals are %+v", v.Totals)
		}
	})
}
