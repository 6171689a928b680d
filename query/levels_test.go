package query

import (
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/queryv1"
)

// notify sets a level, until a time unless that is 0.
func (c *cluster) notify(channel, user string, level events.Level, until int64) string {
	return c.read(events.Read{Kind: events.KindNotifySet, Level: level, Until: until}, channel, user)
}

// label sets a user's own labels of a channel.
func (c *cluster) label(channel, user string, labels ...string) string {
	return c.read(events.Read{Kind: events.KindLabelsSet, IDs: texts(labels)}, channel, user)
}

// updated sets the labels of a channel and whether it is archived.
func (c *cluster) updated(channel string, archived bool, labels ...string) string {
	return c.message(channel, events.Message{Kind: events.KindChannelUpdated, IDs: texts(labels), Archived: archived})
}

func texts(list []string) (out [][]byte) {
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

// setLevels makes channels of ann with settings. Each has two unread messages, one of them a
// mention, and a thread with one unread reply. She follows the threads because she posted their
// roots.
func setLevels(c *cluster) {
	for _, ch := range []string{"plain", "mentions", "none", "timed", "archived", "labelled"} {
		c.join(ch, "ann", "bob")
		c.post(ch, "root", "ann")
		c.reply(ch, "root", "r1", "bob")
		c.post(ch, "m1", "bob", "ann")
		c.post(ch, "m2", "bob")
	}
	c.notify("mentions", "ann", events.LevelMentions, 0)
	c.notify("none", "ann", events.LevelNone, 0)
	c.notify("timed", "ann", events.LevelNone, noon.UnixMilli())
	c.updated("archived", true, "old")
	c.updated("labelled", false, "work")
	c.label("labelled", "ann", "work", "mine")
	c.label("archived", "ann", "mine")
	c.read(events.Read{Kind: events.KindLineSet, Seq: 3}, "labelled", "ann")
}

func inboxIDs(cs []*queryv1.ChannelUnread) (out []string) {
	for _, c := range cs {
		out = append(out, c.ChannelId)
	}
	slices.Sort(out)
	return out
}

// Totals, labels and lists follow the settings. At the same time they are the same on any node.
func TestWhatWasSaidInTotals(t *testing.T) {
	c := newCluster(t, 8, 3)
	setLevels(c)
	part := func(channels, threads, badge uint32) *queryv1.Totals {
		return &queryv1.Totals{
			Unread: 2 * channels, Mentions: channels, UnreadChannels: channels, ThreadUnread: threads, UnreadThreads: threads,
			Badge: badge, Archived: &queryv1.ArchivedTotals{},
		}
	}
	archived := &queryv1.ArchivedTotals{UnreadChannels: 1, Mentions: 1}
	before, after := part(3, 3, 3+1+3), part(4, 4, 3+1+3+3)
	before.Archived, after.Archived = archived, archived
	mine, old := part(1, 1, 3), part(0, 0, 0)
	mine.Archived, old.Archived = archived, archived
	for _, n := range c.nodes {
		for _, at := range []struct {
			time time.Time
			want *queryv1.Totals
		}{{noon.Add(-time.Millisecond), before}, {noon, after}} {
			got := n.inbox(t, &queryv1.GetInboxRequest{UserId: "ann", EvaluatedAt: timestamppb.New(at.time)})
			if !proto.Equal(got.Totals, at.want) || !got.EvaluatedAt.AsTime().Equal(at.time) {
				t.Errorf("node %d at %v: %v, want %v", n.index, at.time, got, at.want)
			}
			by := got.TotalsByLabel
			if len(by) != 3 || !proto.Equal(by["work"], part(1, 1, 3)) || !proto.Equal(by["mine"], mine) || !proto.Equal(by["old"], old) {
				t.Errorf("node %d: by label %v", n.index, by)
			}
			if ids := inboxIDs(got.Channels); !slices.Equal(ids, []string{"labelled", "mentions", "none", "plain", "timed"}) {
				t.Errorf("node %d lists %v", n.index, ids)
			}
			threads := n.threads(t, &queryv1.GetThreadsRequest{UserId: "ann", EvaluatedAt: timestamppb.New(at.time)})
			if threads.Totals.ThreadUnread != at.want.ThreadUnread || threads.Totals.UnreadThreads != at.want.UnreadThreads {
				t.Errorf("node %d at %v: totals of threads %v", n.index, at.time, threads.Totals)
			}
			for _, th := range threads.Threads {
				of := n.inboxOf(t, th.ChannelId, at.time)
				if th.Level != of.Level || th.Archived != of.Archived || th.Muted != of.Muted || !proto.Equal(th.Until, of.Until) {
					t.Errorf("node %d: %v in %v", n.index, th, of)
				}
			}
		}
		for _, f := range []struct {
			req  *queryv1.GetInboxRequest
			want []string
		}{
			{&queryv1.GetInboxRequest{Archived: "only"}, []string{"archived"}},
			{&queryv1.GetInboxRequest{Archived: "all", Label: "mine"}, []string{"archived", "labelled"}},
			{&queryv1.GetInboxRequest{Label: "mine", UnreadOnly: true}, []string{"labelled"}},
			{&queryv1.GetInboxRequest{Label: "nobody's"}, nil},
		} {
			f.req.UserId = "ann"
			if got := inboxIDs(n.inbox(t, f.req).Channels); !slices.Equal(got, f.want) {
				t.Errorf("node %d: %v lists %v, want %v", n.index, f.req, got, f.want)
			}
		}
		for _, of := range []string{"only", "all"} {
			first := n.inbox(t, &queryv1.GetInboxRequest{UserId: "ann", Archived: "all", PageSize: 1})
			again := &queryv1.GetInboxRequest{UserId: "ann", Archived: of, PageSize: 1, PageToken: first.NextPageToken}
			if _, err := n.query.GetInbox(t.Context(), connect.NewRequest(again)); of == "only" &&
				(connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "archived: start again")) || of == "all" && err != nil {
				t.Errorf("node %d: the token of a page of all, for %s: %v", n.index, of, err)
			}
		}
		got := n.inboxOf(t, "labelled", noon)
		if !slices.Equal(got.Labels, []string{"mine", "work"}) || !slices.Equal(got.OwnLabels, []string{"mine", "work"}) || got.Line.GetSeq() != 3 {
			t.Errorf("node %d: %v", n.index, got)
		}
	}
}

// inboxOf returns a channel of ann at a time, from a call about that channel.
func (n *node) inboxOf(t *testing.T, channel string, at time.Time) *queryv1.ChannelUnread {
	t.Helper()
	all := n.inbox(t, &queryv1.GetInboxRequest{UserId: "ann", Archived: "all", EvaluatedAt: timestamppb.New(at)})
	i := slices.IndexFunc(all.Channels, func(c *queryv1.ChannelUnread) bool { return c.ChannelId == channel })
	return all.Channels[i]
}

// The pages of a label's list have only channels of that label.
func TestPagesOfALabel(t *testing.T) {
	c := newCluster(t, 4, 2)
	setLevels(c)
	c.label("plain", "ann", "mine")
	page := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann", Label: "mine", PageSize: 1})
	next := c.nodes[1].inbox(t, &queryv1.GetInboxRequest{UserId: "ann", Label: "mine", PageSize: 1, PageToken: page.NextPageToken})
	if ids := inboxIDs(append(page.Channels, next.Channels...)); !slices.Equal(ids, []string{"labelled", "plain"}) || next.NextPageToken != "" {
		t.Errorf("%v", ids)
	}
	status, got := c.nodes[0].callJSON(t, "GetInbox", `{"user_id":"ann","page_token":"`+page.NextPageToken+`"}`)
	if status != 400 {
		t.Errorf("with another label: %d %s", status, got)
	}
}

// A watch reports the end of a level when it comes, with the channel's threads and the new totals,
// whichever node owns the channel.
func TestWatchTellsTheEndOfALevel(t *testing.T) {
	testkit.AtMost(t, "told after the end", time.Second, func() time.Duration { return watchTheEndOfALevel(t) })
}

// watchTheEndOfALevel returns how long after its end a level's watcher learned of it.
func watchTheEndOfALevel(t *testing.T) time.Duration {
	c := newCluster(t, 4, 2)
	for _, ch := range []string{c.channelOn("a", 0), c.channelOn("b", 1)} {
		c.join(ch, "ann", "bob")
		c.post(ch, "root", "ann")
		c.reply(ch, "root", "r1", "bob")
		c.post(ch, "m1", "bob")
	}
	ch := c.channelOn("b", 1)
	c.updated(ch, false, "work")
	until := time.Now().Add(3 * time.Second) // enough time to begin the watch before it
	c.notify(ch, "ann", events.LevelNone, until.UnixMilli())
	w := c.nodes[0].watch(t, t.Context(), "ann")
	m := w.next()
	if snap := m.GetSnapshot(); snap.Totals.Badge != 2 || snap.TotalsByLabel["work"].GetBadge() != 0 || m.EvaluatedAt == nil {
		t.Fatalf("the snapshot is %v", m)
	}
	u := w.next()
	late := time.Since(until)
	if at := u.EvaluatedAt.AsTime(); at.Before(until.Truncate(time.Millisecond)) {
		t.Errorf("told as of %v, before the level ended at %v", at, until)
	}
	is := u.GetUpdate()
	if x := is.GetChannel(); x.GetChannelId() != ch || x.Muted || x.Level != answer.Level(events.LevelAll) || x.Until != nil {
		t.Errorf("told %v", u)
	}
	if is.Totals.Unread != 2 || is.Totals.Badge != 3 || is.TotalsByLabel["work"].GetBadge() != 1 {
		t.Errorf("totals %v", is)
	}
	threads := w.nextThread()
	if threads.GetThread().Muted || threads.Totals.Badge != 4 || threads.TotalsByLabel["work"].GetBadge() != 2 {
		t.Errorf("of the thread %v", threads)
	}
	return late
}

// A watch reports the labels and the archiving of a channel, which no delta has.
func TestWatchTellsWhatIsSaid(t *testing.T) {
	c := newCluster(t, 4, 2)
	setLevels(c)
	w := c.nodes[0].watch(t, t.Context(), "ann")
	snap := w.next().GetSnapshot()
	if len(snap.Channels) != 6 {
		t.Fatalf("the snapshot lists %v", inboxIDs(snap.Channels))
	}
	badge := snap.Totals.Badge
	for _, step := range []struct {
		name   string
		do     func()
		labels []string
		check  func(u *queryv1.WatchUpdate) bool
	}{
		{"a label more", func() { c.updated("plain", false, "new") }, []string{"new"}, func(u *queryv1.WatchUpdate) bool {
			return slices.Equal(u.Channel.Labels, []string{"new"}) && u.TotalsByLabel["new"].Badge == 3 && u.Totals.Badge == badge
		}},
		{"another label", func() { c.updated("plain", false, "newer") }, []string{"new", "newer"}, func(u *queryv1.WatchUpdate) bool {
			return u.TotalsByLabel["new"].Badge == 0 && u.TotalsByLabel["newer"].Badge == 3
		}},
		{"archived", func() { c.updated("plain", true, "newer") }, []string{"newer"}, func(u *queryv1.WatchUpdate) bool {
			return u.Channel.Archived && u.Totals.Archived.UnreadChannels == 2 && u.Totals.Badge == badge-2 && u.TotalsByLabel["newer"].Archived.UnreadChannels == 1
		}},
	} {
		step.do()
		u := w.next().GetUpdate()
		if u.GetChannel().GetChannelId() != "plain" || !step.check(u) || len(u.TotalsByLabel) != len(step.labels) {
			t.Errorf("%s: %v", step.name, u)
		}
		if step.name == "archived" {
			if th := w.nextThread(); !th.Thread.Archived || th.Totals.Badge != badge-3 {
				t.Errorf("its thread: %v", th)
			}
		}
	}
}

// nextThread takes an update of a thread.
func (w *watching) nextThread() *queryv1.WatchUpdate {
	w.t.Helper()
	select {
	case m := <-w.messages:
		if m.GetUpdate().GetThread() == nil {
			w.t.Fatalf("%v is of no thread", m)
		}
		return m.GetUpdate()
	case <-time.After(2 * time.Minute):
		w.t.Fatal("nothing was sent for two minutes")
		return nil
	}
}
