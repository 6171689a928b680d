package ui_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// published has random scripts in the order in which they are written, and three of their users.
type published struct {
	records []script.Record
	users   []string
}

// TestThePageShowsWhatTheInboxSays writes random scripts with all of DESIGN §4.7, half of the
// records before the page is open and half while it is. Then the page must show each of three users
// what GetInbox returns: the badge, the badge of each label, the unread number of the archive, and
// for each channel the unread messages, the mentions, the flag and the sign of its level.
//
// TIDEMARK_PAGE_SCRIPTS sets how many pages are opened; two of three have only small channels.
func TestThePageShowsWhatTheInboxSays(t *testing.T) {
	n := 6
	if s := os.Getenv("TIDEMARK_PAGE_SCRIPTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatalf("TIDEMARK_PAGE_SCRIPTS: %v", err)
		}
	}
	drawn := 80 * n
	if testing.Short() {
		n, drawn = 3, 5*80*3 // rapid draws a fifth of it
	}
	var scripts [][]script.Record
	collect := func(t *rapid.T, c *random.Case) {
		scripts = append(scripts, c.Log.Interleave(func(left []events.Input) int { return rapid.IntRange(0, len(left)-1).Draw(t, "order") }))
	}
	parts := random.Folded()
	random.Scripts(t, drawn, random.DrawMore(parts...), collect)
	mostPublished(scripts)
	small := scripts
	scripts = nil
	random.Scripts(t, 50, random.DrawCrowdMore(parts...), collect)
	mostPublished(scripts)
	var labels, signs int
	for i := range n {
		some := small[20*i : 20*i+20]
		if i%3 == 2 {
			some = append(some[:19:19], scripts[i/3])
		}
		s := together(some)
		l, g := s.show()
		labels, signs = labels+l, signs+g
		t.Run(strconv.Itoa(i), func(t *testing.T) { s.onThePage(t) })
	}
	t.Logf("%d labels with a badge that is neither the user's nor what is unread, %d levels that end", labels, signs)
	if labels+signs == 0 {
		t.Error("nothing was there to be shown")
	}
}

// mostPublished sorts scripts: first those with many levels that end and labels, and long ones.
func mostPublished(list [][]script.Record) {
	count := func(records []script.Record) (n int) {
		for i := range records {
			n++
			if r := records[i].Read; r != nil && (r.Until > 0 || r.Kind == events.KindLabelsSet) {
				n += 20
			}
		}
		return n
	}
	slices.SortStableFunc(list, func(a, b []script.Record) int { return count(b) - count(a) })
}

// together interleaves scripts, each in channels of its own.
func together(scripts [][]script.Record) published {
	var s published
	for i := 0; ; i++ {
		before := len(s.records)
		for n, records := range scripts {
			if i < len(records) {
				s.records = append(s.records, within(&records[i], n))
			}
		}
		if len(s.records) == before {
			return s
		}
	}
}

// within returns the record of the nth script with its own channel names. Every second level with
// an end has not ended yet.
func within(r *script.Record, n int) script.Record {
	name := fmt.Appendf(nil, "%s%d", r.Key(), n)
	switch {
	case r.Message != nil:
		r.Message.ChannelID = name
	case r.Read != nil:
		r.Read.ChannelID = name
		if r.Read.Until > 0 && n%2 == 0 {
			r.Read.Until += (365 * 24 * time.Hour).Milliseconds()
		}
	default:
		r.Delivery.ChannelID = name
	}
	return *r
}

// show chooses the three users who have most to show: labels with a badge of their own, and levels
// with an end. It counts both.
func (s *published) show() (labels, signs int) {
	m, now := model.New(projections.DefaultSettings()), time.Now().UnixMilli()
	for i := range s.records {
		s.records[i].AddTo(m)
	}
	s.users = m.Users()
	shown := map[string][2]int{} // labels and levels, by user
	for _, u := range s.users {
		right := checker.Right([]*model.Model{m}, u, now, false)
		var n [2]int
		for _, sum := range right.ByLabel {
			if sum.Badge != right.Totals.Badge && sum.Badge != sum.Unread {
				n[0]++
			}
		}
		for _, c := range right.Channels {
			if !c.Archived && c.Levels.Until > now {
				n[1]++
			}
		}
		shown[u] = n
	}
	slices.SortStableFunc(s.users, func(a, b string) int {
		return cmp.Compare(shown[b][0]+shown[b][1], shown[a][0]+shown[a][1])
	})
	s.users = s.users[:min(3, len(s.users))]
	for _, u := range s.users {
		labels, signs = labels+shown[u][0], signs+shown[u][1]
	}
	return labels, signs
}

func (s published) onThePage(t *testing.T) {
	site := newSite(t, dev.Config{})
	defer site.stop()
	client := testkit.Client(t, []string{site.stack.Broker})
	half := len(s.records) / 2
	site.write(client, s.records[:half])
	address := site.url + "/?people="
	for i, u := range s.users {
		address += map[bool]string{true: ","}[i > 0] + u
	}
	b := open(t, address, 1440, 900)
	after := site.write(client, s.records[half:])
	query := queryv1connect.NewQueryServiceClient(http.DefaultClient, site.url)
	for _, u := range s.users {
		res, err := query.GetInbox(t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: u, Archived: "all", After: after, PageSize: 1000}))
		if err != nil {
			t.Fatal(err)
		}
		b.shows(u, shownOf(res.Msg))
	}
}

// write writes records, and returns the tokens of the last ones.
func (s *site) write(client *kgo.Client, records []script.Record) []string {
	s.t.Helper()
	var list []*kgo.Record
	for i := range records {
		value, err := records[i].Value()
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, &kgo.Record{Topic: events.InputTopics[records[i].Input], Key: records[i].Key(), Value: value, Timestamp: time.UnixMilli(records[i].Timestamp)})
	}
	var tokens []string
	for _, r := range client.ProduceSync(s.t.Context(), list...) {
		if r.Err != nil {
			s.t.Fatal(r.Err)
		}
		tokens = append(tokens, events.RecordID{Topic: r.Record.Topic, Partition: r.Record.Partition, Offset: r.Record.Offset}.String())
	}
	return events.LatestTokens(tokens)
}

// shownOf returns what the page must show: the badge, a line for each listed channel, the badge of
// each label, and the link to the archive.
func shownOf(inbox *queryv1.GetInboxResponse) map[string]string {
	capped := func(n uint32) string { return map[bool]string{false: fmt.Sprint(n), true: "99+"}[n > 99] }
	badge := inbox.Totals.GetBadge()
	shown, archived := map[string]string{"": fmt.Sprint(badge)}, 0
	for _, c := range inbox.Channels {
		if c.Archived {
			archived++
			continue
		}
		direct := min(c.DirectMentions, c.Mentions)
		shown[c.ChannelId] = fmt.Sprintf("%s unread, @%s, @all %s, flagged %v, %s", capped(c.Unread), capped(direct), capped(c.Mentions-direct), c.Flagged, signOf(c))
	}
	for label, t := range inbox.TotalsByLabel {
		shown["label "+label] = capped(t.Badge)
	}
	if len(inbox.TotalsByLabel) > 0 {
		shown["label "] = capped(badge)
	}
	if archived > 0 {
		way, away := fmt.Sprint(archived), inbox.Totals.GetArchived()
		if n := away.GetUnreadChannels(); n > 0 {
			way = fmt.Sprintf("%d of %d unread", n, archived)
		}
		shown["archive"] = fmt.Sprintf("%s, mentions %v", way, away.GetMentions() > 0)
	}
	return shown
}

// signOf describes the sign beside a channel: its words, with the time if the level ends, and the
// number of icons.
func signOf(c *queryv1.ChannelUnread) string {
	words := map[eventsv1.NotifySet_Level]string{eventsv1.NotifySet_MENTIONS: "mentions only", eventsv1.NotifySet_NONE: "muted"}[c.Level]
	if c.Until != nil {
		if words == "" {
			words = "all"
		}
		return fmt.Sprintf("%s until %s, 2 icons", words, c.Until.AsTime().Local().Format("15:04"))
	}
	if words == "" {
		return "no sign"
	}
	return words + ", 1 icons"
}

// shows waits until the page shows want for a user.
func (b *browser) shows(user string, want map[string]string) {
	b.t.Helper()
	shown := fmt.Sprintf(`((device) => {
		const number = (row, kind, none, one) => { const e = row.querySelector(kind); return e ? e.textContent.replace(/^@(all)?\s*/, '') || one : none; };
		const sign = (e) => e ? e.title.replace(/until .*?(\d\d:\d\d)$/, 'until $1') + ', ' + e.querySelectorAll('.icon').length + ' icons' : 'no sign';
		const out = { '': device?.querySelector('.total')?.dataset.total ?? 'unknown' };
		for (const row of device?.querySelectorAll('.row') ?? []) {
			out[row.querySelector('.row-open').dataset.channel] = number(row, '.count:not(.away)', '0') + ' unread, @' + number(row, '.at:not(.all)', '0', '1')
				+ ', @all ' + number(row, '.at.all', '0', '1') + ', flagged ' + row.classList.contains('flagged') + ', ' + sign(row.querySelector('.row-sign'));
		}
		for (const group of device?.querySelectorAll('.group') ?? []) out['label ' + group.dataset.label] = group.querySelector('.pip')?.textContent ?? '0';
		const shelf = device?.querySelector('.shelf');
		if (shelf) out.archive = shelf.querySelector('.shelf-count').textContent + ', mentions ' + Boolean(shelf.querySelector('.at'));
		return out;
	})(document.querySelector('%s'))`, device(user, "laptop"))
	var got map[string]string
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.t.Logf("of %s the page shows\n%v\nand the inbox says\n%v", user, got, want)
		}
	})
	testkit.Await(b.t, fmt.Sprintf("the page shows %s what the inbox says", user), func() bool {
		got = eval[map[string]string](b, shown)
		return maps.Equal(got, want)
	})
}

// TestAllIsArchived: the page opens for a user who has archived every channel, and links to the
// archive.
func TestAllIsArchived(t *testing.T) {
	s := newSite(t, dev.Config{})
	s.publish(joined("general", "ann", "bob"), posted("general", "m1", "bob", "one"), `{"read":{"channel_id":"general","user_id":"ann","channel_filed":{"archived":true,"keep":true,"head_seq":1}}}`)
	b := open(t, s.url+"/?people=ann", 1440, 900)
	b.total(annLaptop, 0)
	b.until("the archive is offered", fmt.Sprintf(`document.querySelector('%s .shelf')`, annLaptop))
}
