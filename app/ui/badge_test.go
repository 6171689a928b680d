package ui_test

import (
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
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// told is a random script in the order in which it is written, and three of its users.
type told struct {
	records []script.Record
	users   []string
}

// TestThePageShowsWhatTheInboxSays: a random script, with all of DESIGN §4.7, is written half before
// the page is open and half while it is. Then the page shows each of three users what GetInbox says:
// the badge, and of each channel the unread messages, the mentions and the flag.
// TIDEMARK_PAGE_SCRIPTS sets how many scripts run, two of three with small channels alone.
func TestThePageShowsWhatTheInboxSays(t *testing.T) {
	n := 6
	if s := os.Getenv("TIDEMARK_PAGE_SCRIPTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatalf("TIDEMARK_PAGE_SCRIPTS: %v", err)
		}
	}
	if testing.Short() {
		n = 3
	}
	var scripts []told
	collect := func(t *rapid.T, c *random.Case) {
		s, m := told{}, model.New(c.Settings)
		s.records = c.Log.Interleave(func(left []events.Input) int { return rapid.IntRange(0, len(left)-1).Draw(t, "order") })
		for _, r := range s.records {
			r.AddTo(m)
		}
		s.users = m.Users()
		s.users = s.users[:min(3, len(s.users))]
		scripts = append(scripts, s)
	}
	parts := random.Folded()
	random.Scripts(t, 200, random.DrawMore(parts...), collect)
	few := mostTold(scripts, n-n/3)
	scripts = nil
	random.Scripts(t, 50, random.DrawCrowdMore(parts...), collect)
	for i, s := range append(few, mostTold(scripts, n/3)...) {
		t.Run(strconv.Itoa(i), func(t *testing.T) { s.onThePage(t) })
	}
}

// mostTold are the n longest scripts.
func mostTold(list []told, n int) []told {
	slices.SortStableFunc(list, func(a, b told) int { return len(b.records) - len(a.records) })
	return slices.Clone(list[:min(n, len(list))])
}

func (s told) onThePage(t *testing.T) {
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

// write writes records, and gives the tokens of the last ones.
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

// shownOf is what the page has to show: the badge, and a line for each channel of the list.
func shownOf(inbox *queryv1.GetInboxResponse) map[string]string {
	capped := func(n uint32) string { return map[bool]string{false: fmt.Sprint(n), true: "99+"}[n > 99] }
	shown := map[string]string{"": fmt.Sprint(inbox.Totals.GetBadge())}
	for _, c := range inbox.Channels {
		if c.Archived {
			continue
		}
		direct := min(c.DirectMentions, c.Mentions)
		shown[c.ChannelId] = fmt.Sprintf("%s unread, @%s, @all %s, flagged %v", capped(c.Unread), capped(direct), capped(c.Mentions-direct), c.Flagged)
	}
	return shown
}

// shows waits until the page shows this to a user.
func (b *browser) shows(user string, want map[string]string) {
	b.t.Helper()
	shown := fmt.Sprintf(`((device) => {
		const number = (row, kind, none, one) => { const e = row.querySelector(kind); return e ? e.textContent.replace(/^@(all)?\s*/, '') || one : none; };
		const out = { '': device?.querySelector('.total')?.dataset.total ?? 'unknown' };
		for (const row of device?.querySelectorAll('.row') ?? []) {
			out[row.querySelector('.row-open').dataset.channel] = number(row, '.count:not(.away)', '0') + ' unread, @' + number(row, '.at:not(.all)', '0', '1')
				+ ', @all ' + number(row, '.at.all', '0', '1') + ', flagged ' + row.classList.contains('flagged');
		}
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

// TestAllIsArchived: the page of somebody who has archived every channel opens, and has the way to
// them.
func TestAllIsArchived(t *testing.T) {
	s := newSite(t, dev.Config{})
	s.publish(joined("general", "ann", "bob"), posted("general", "m1", "bob", "one"), `{"read":{"channel_id":"general","user_id":"ann","channel_filed":{"archived":true,"keep":true,"head_seq":1}}}`)
	b := open(t, s.url+"/?people=ann", 1440, 900)
	b.total(annLaptop, 0)
	b.until("the archive is offered", fmt.Sprintf(`document.querySelector('%s .shelf')`, annLaptop))
}
