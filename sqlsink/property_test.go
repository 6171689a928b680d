package sqlsink_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/sqlsink"
)

// tables folds records and writes the outputs to a database.
type tables struct {
	t       *testing.T
	conn    *pgx.Conn
	writer  *sqlsink.Writer
	part    *projections.Partition
	model   *model.Model
	batches [][]*kgo.Record
}

// TestPropertyTables: after any events the tables equal the model for each user: every row, also of
// large channels through the view, and the readers of each message. They have no rows of deleted
// channels and of erased users. Writing the records again changes nothing.
func TestPropertyTables(t *testing.T) {
	dsn := testkit.Postgres(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	s := &tables{t: t, conn: conn, writer: sqlsink.Begin(t, dsn)}
	parts := random.Folded()
	t.Run("crowds", func(t *testing.T) { random.Scripts(t, 8, random.DrawCrowdMore(parts...), s.same) })
	t.Run("small", func(t *testing.T) { random.Scripts(t, 50, random.DrawMore(parts...), s.same) })
}

func (s *tables) same(t *rapid.T, c *random.Case) {
	s.writer.Empty(s.t)
	s.model, s.batches = model.New(c.Settings), nil
	p, err := projections.Open("store", projections.Identity{Partitions: 1, Settings: c.Settings}, projections.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	s.part = p
	defer func() {
		p.Lock()
		defer p.Unlock()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	order := c.Log.Interleave(func(left []events.Input) int { return rapid.IntRange(0, len(left)-1).Draw(t, "order") })
	for i, r := range order {
		r.Fold(p)
		r.AddTo(s.model)
		if i == len(order)-1 || rapid.IntRange(0, 8).Draw(t, "published") == 0 {
			s.publish(t)
		}
	}
	s.compare(t, c)
	before := s.dump(t)
	for _, b := range s.batches {
		s.writer.Write(s.t, b...)
	}
	if after := s.dump(t); after != before {
		t.Fatalf("what is written once more changes\n%s\nto\n%s", before, after)
	}
}

// publish drains the partition and writes its records.
func (s *tables) publish(t *rapid.T) {
	var out projections.Deltas
	s.part.Drain(&out, true)
	var records []*kgo.Record
	for _, r := range out.Records {
		record := &kgo.Record{Key: slices.Clone(r.Key), Value: slices.Clone(r.Value)}
		switch r.Topic {
		case projections.OutUnread:
			record.Topic = events.TopicUnread
		case projections.OutChannels:
			record.Topic = events.TopicChannels
		default:
			record.Topic = events.TopicReceipts
		}
		records = append(records, record)
	}
	s.batches = append(s.batches, records)
	s.writer.Write(s.t, records...)
}

// dump returns everything that users of the tables see, with the time of the last change.
func (s *tables) dump(t *rapid.T) string {
	var out strings.Builder
	for _, table := range []string{"unread", "read_pointers", "channels", "receipts"} {
		rows, err := s.conn.Query(s.t.Context(), "SELECT t::text FROM tidemark."+table+" t ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n%s\n", table, strings.Join(lines, "\n"))
	}
	return out.String()
}

// compare compares the tables with the model.
func (s *tables) compare(t *rapid.T, c *random.Case) {
	now, answers := s.inboxes(t)
	for _, user := range s.model.Users() {
		got := answers[user]
		delete(answers, user)
		if got == nil {
			got = newAnswer()
		}
		sum(got)
		right := checker.Right([]*model.Model{s.model}, user, now, true)
		right.AsDerived()
		asTables(right)
		f := &checker.Findings{What: "the view inbox"}
		if got.Compare(right, f); f.Count > 0 {
			t.Fatalf("%s: %s", user, f)
		}
	}
	if len(answers) > 0 {
		t.Fatalf("inboxes of unknown users: %v", slices.Collect(maps.Keys(answers)))
	}
	s.readers(t, &c.Log)
	s.remains(t)
}

func newAnswer() *checker.Answer {
	return &checker.Answer{Channels: map[string]checker.Channel{}, Threads: map[checker.ThreadID]checker.Thread{}, ByLabel: map[string]model.Totals{}}
}

// sum sets the totals of an answer to the sums of its parts.
func sum(a *checker.Answer) {
	a.Totals, _ = a.Sum("")
	for _, c := range a.Channels {
		for _, label := range c.Labels {
			a.ByLabel[label], _ = a.Sum(label)
		}
	}
}

// asTables clears the fields of the right answer that no table has.
func asTables(a *checker.Answer) {
	for id, c := range a.Channels {
		c.FirstMention, c.Line = projections.Ref{}, projections.Ref{}
		c.Latest.Seq, c.Latest.Pos, c.Latest.Preview = 0, 0, ""
		a.Channels[id] = c
	}
	for id, th := range a.Threads {
		th.FirstMention, th.Latest = projections.Ref{}, projections.Head{}
		a.Threads[id] = th
	}
}

// inboxes returns the answers of the view by user, and the time as of which it evaluated levels.
func (s *tables) inboxes(t *rapid.T) (now int64, answers map[string]*checker.Answer) {
	rows, err := s.conn.Query(s.t.Context(), `SELECT now() AS now, i.user_id, i.channel_id, i.thread_id, i.unread, i.mentions, i.direct_mentions, i.offline_unread,
			coalesce(i.first_unread_id, '') AS first_unread_id, coalesce(i.first_unread_seq, 0) AS first_unread_seq,
			coalesce(i.last_read_id, '') AS last_read_id, i.last_read_seq, i.last_read_at,
			i.level, i.until, u.level_after, i.flagged, i.read_epoch, i.large, i.archived, coalesce(u.filed_keep, false) AS keep, u.ignore_mention_all AS ignore_all,
			i.own_labels, i.channel_labels, coalesce(i.latest_id, '') AS latest_id, i.latest_at, coalesce(i.latest_sender, '') AS latest_sender
		FROM tidemark.inbox i JOIN tidemark.unread u USING (user_id, channel_id, thread_id)`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[inboxRow])
	if err != nil {
		t.Fatal(err)
	}
	answers = map[string]*checker.Answer{}
	now = time.Now().UnixMilli()
	for i := range list {
		r := &list[i]
		now = r.Now.UnixMilli()
		a := answers[r.UserID]
		if a == nil {
			a = newAnswer()
			answers[r.UserID] = a
		}
		r.addTo(a)
	}
	return now, answers
}

// inboxRow is a row of the view.
type inboxRow struct {
	Now                         time.Time
	UserID, ChannelID, ThreadID string
	Unread, Mentions            *int64
	DirectMentions              *int64
	OfflineUnread               int64
	FirstUnreadID               string
	FirstUnreadSeq              int64
	LastReadID                  string
	LastReadSeq                 int64
	LastReadAt                  *time.Time
	Level                       string
	Until                       *time.Time
	LevelAfter                  string
	Flagged                     bool
	ReadEpoch                   int64
	Large, Archived, Keep       bool
	IgnoreAll                   bool
	OwnLabels, ChannelLabels    []string
	LatestID                    string
	LatestAt                    *time.Time
	LatestSender                string
}

func (r *inboxRow) addTo(a *checker.Answer) {
	n := checker.Counts{FirstUnread: projections.Ref{MessageID: r.FirstUnreadID, Seq: uint32(r.FirstUnreadSeq)}}
	if r.Unread != nil {
		n.Unread, n.Mentions, n.DirectMentions = uint32(*r.Unread), uint32(*r.Mentions), uint32(*r.DirectMentions)
	}
	place := checker.Place{LastRead: projections.Ref{MessageID: r.LastReadID, Seq: uint32(r.LastReadSeq)}, LastReadAt: millisOf(r.LastReadAt), ReadEpoch: uint32(r.ReadEpoch)}
	if r.ThreadID != "" {
		a.Threads[checker.ThreadID{Channel: r.ChannelID, Thread: r.ThreadID}] = checker.Thread{Counts: n, Place: place, Listed: true}
		return
	}
	place.Latest = projections.Head{MessageID: r.LatestID, At: millisOf(r.LatestAt), SenderID: r.LatestSender}
	c := checker.Channel{
		Counts: n, Place: place, Ask: r.Unread == nil, OfflineUnread: uint32(r.OfflineUnread), Large: r.Large,
		Levels: events.Levels{Level: levelOf(r.Level)}, IgnoreAll: r.IgnoreAll, Flagged: r.Flagged, Archived: r.Archived, Keep: r.Keep,
		OwnLabels: listOf(r.OwnLabels),
	}
	if r.Until != nil {
		c.Levels.Until, c.Levels.After = r.Until.UnixMilli(), levelOf(r.LevelAfter)
	}
	labels := append(slices.Clone(r.OwnLabels), r.ChannelLabels...)
	slices.Sort(labels)
	c.Labels = listOf(slices.Compact(labels))
	a.Channels[r.ChannelID] = c
}

func listOf(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

func millisOf(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMilli()
}

func levelOf(name string) events.Level {
	return events.Level(slices.Index(events.LevelNames[:], name)) //nolint:gosec // there are three
}

// readers compares message_readers with the members' pointers, and also with GetReaders if all
// reads are public and none was taken back.
func (s *tables) readers(t *rapid.T, l *script.Log) {
	plain := true
	for _, r := range l[events.Reads] {
		switch r.Read.Kind {
		case events.KindReadUpTo, events.KindMessagesRead:
			plain = plain && !r.Read.Private && r.Read.ReadEpoch == 0
		case events.KindMarkedUnread, events.KindUserErased:
			plain = false
		}
	}
	for _, channel := range s.model.Channels() {
		head, ok := s.model.Channel(channel)
		if !ok {
			continue
		}
		all, _ := s.model.Readers(channel)
		for _, seq := range []uint32{1, head.HeadSeq/2 + 1, max(1, head.HeadSeq)} {
			var want, public []string
			open := false
			for _, user := range s.model.Users() {
				v, ok := s.model.View(user, channel)
				open = open || s.model.OpenInTime(user, channel, "")
				if ok && v.Member && v.LastRead.Seq >= seq {
					want = append(want, user)
				}
			}
			for _, r := range all {
				if r.Message.Seq >= seq {
					public = append(public, r.UserID)
				}
			}
			read := func(private bool) (users []string, err error) {
				rows, err := s.conn.Query(s.t.Context(), `SELECT user_id FROM tidemark.message_readers($1, $2, $3)`, channel, int64(seq), private)
				if err != nil {
					return nil, err
				}
				return pgx.CollectRows(rows, pgx.RowTo[string])
			}
			got, err := read(true)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := read(false)
			if err != nil && !strings.Contains(err.Error(), "is large: it has no receipts") {
				t.Fatal(err)
			}
			for _, user := range shown {
				if !open && !slices.Contains(public, user) {
					t.Fatalf("readers of %s from seq %d: %v with a private read of %s; in public only %v have read it", channel, seq, shown, user, public)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			slices.Sort(public)
			if !open && !slices.Equal(got, want) {
				t.Fatalf("readers of %s from seq %d: %v, and the pointers there are of %v", channel, seq, got, want)
			}
			if !open && plain && !slices.Equal(got, public) {
				t.Fatalf("readers of %s from seq %d: %v, and GetReaders has %v", channel, seq, got, public)
			}
		}
	}
}

// remains finds rows of deleted channels and of erased users.
func (s *tables) remains(t *rapid.T) {
	for _, table := range []string{"unread", "read_pointers", "channels", "receipts"} {
		user := "user_id"
		if table == "channels" {
			user = "''"
		}
		rows, err := s.conn.Query(s.t.Context(), "SELECT DISTINCT channel_id, "+user+" FROM tidemark."+table)
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (p [2]string, err error) {
			err = r.Scan(&p[0], &p[1])
			return p, err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if s.model.Deleted(p[0]) {
				t.Fatalf("%s has rows of %s, which is deleted", table, p[0])
			}
			if v, ok := s.model.View(p[1], p[0]); p[1] != "" && s.model.Erased(p[1], p[0]) && (!ok || !v.Member) && table == "receipts" {
				t.Fatalf("%s has rows of %s in %s, who is erased", table, p[1], p[0])
			}
		}
	}
}
