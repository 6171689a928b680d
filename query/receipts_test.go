package query

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/queryv1"
)

func (c *cluster) delivered(channel, user, messageID string) string {
	return c.fold(events.Deliveries, channel, func(p *projections.Partition, offset, now int64) projections.Outcome {
		return p.FoldDelivery(&events.Delivery{
			Kind: events.KindDelivered, ChannelID: []byte(channel), UserID: []byte(user), MessageID: []byte(messageID), OccurredAt: now,
		}, offset, now)
	})
}

func (n *node) receipts(t testing.TB, req *queryv1.GetReceiptsRequest) *queryv1.GetReceiptsResponse {
	t.Helper()
	res, err := n.query.GetReceipts(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatalf("GetReceipts(%v): %v", req, err)
	}
	return res.Msg
}

func (n *node) readers(t testing.TB, req *queryv1.GetReadersRequest) *queryv1.GetReadersResponse {
	t.Helper()
	res, err := n.query.GetReaders(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatalf("GetReaders(%v): %v", req, err)
	}
	return res.Msg
}

func receiptsText(r *queryv1.GetReceiptsResponse) string {
	s := fmt.Sprintf("%s %d/%d/%d", r.Status, r.ReadCount, r.DeliveredCount, r.RecipientCount)
	for _, x := range r.Recipients {
		s += fmt.Sprintf(", %s %s", x.UserId, x.Status)
		if (x.DeliveredAt != nil) != (x.Status != answer.StatusSent) || (x.ReadAt != nil) != (x.Status == answer.StatusRead) {
			s += " with wrong times"
		}
	}
	return s
}

// The status of a message goes from sent to delivered to read. It is the least status of all
// recipients, on any node. Users who joined later are not recipients, and users who left still are.
func TestReceiptsFromSentToRead(t *testing.T) {
	c := newCluster(t, 4, 2)
	c.join("c", "ann", "bob", "cid")
	c.post("c", "m1", "ann")
	c.join("c", "late")
	want := func(message, want string) {
		t.Helper()
		for _, n := range c.nodes {
			if got := receiptsText(n.receipts(t, &queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: message})); got != want {
				t.Errorf("node %d:\n got %s\nwant %s", n.index, got, want)
			}
		}
	}
	want("m1", "sent 0/0/2, bob sent, cid sent")
	c.delivered("c", "bob", "m1")
	c.delivered("c", "late", "m1")
	want("m1", "sent 0/1/2, bob delivered, cid sent")
	c.readUpTo("c", "cid", 1)
	want("m1", "delivered 1/2/2, bob delivered, cid read")
	c.read(events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 1, Private: true}, "c", "bob")
	c.readUpTo("c", "late", 1)
	want("m1", "delivered 1/2/2, bob delivered, cid read")
	c.leave("c", "cid")
	c.readUpTo("c", "bob", 1)
	c.delivered("c", "bob", "m1") // a late delivery lowers nothing
	want("m1", "read 2/2/2, bob read, cid read")
	c.read(events.Read{Kind: events.KindUserErased}, "c", "cid")
	want("m1", "read 1/1/1, bob read")
	c.join("alone", "ann")
	c.post("alone", "m1", "ann")
	if got := receiptsText(c.nodes[0].receipts(t, &queryv1.GetReceiptsRequest{ChannelId: "alone", MessageId: "m1"})); got != "sent 0/0/0" {
		t.Errorf("without recipients: %s", got)
	}
}

// The read state of a room has every member, including those who have read nothing, as far as
// others may see it.
func TestReaders(t *testing.T) {
	c := newCluster(t, 4, 2)
	c.join("c", "ann", "bob", "cid", "gone", "quiet")
	c.post("c", "m1", "ann")
	c.post("c", "m2", "ann")
	c.readUpTo("c", "bob", 1)
	c.readUpTo("c", "cid", 1)
	c.readUpTo("c", "guest", 2)
	c.readUpTo("c", "gone", 2)
	c.read(events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 2, Private: true}, "c", "cid")
	c.leave("c", "gone")
	c.read(events.Read{Kind: events.KindMarkedUnread, MessageID: []byte("m1")}, "c", "bob") // does not undo published receipts
	for _, n := range c.nodes {
		var got []string
		res := n.readers(t, &queryv1.GetReadersRequest{ChannelId: "c"})
		for _, r := range res.Readers {
			got = append(got, fmt.Sprintf("%s %s #%d %t", r.UserId, r.MessageId, r.Seq, r.At != nil))
		}
		if want := []string{"ann m2 #2 true", "bob m1 #1 true", "cid m1 #1 true", "quiet  #0 false"}; !slices.Equal(got, want) {
			t.Errorf("node %d: %q, want %q", n.index, got, want)
		}
		if res.NextPageToken != "" || len(res.AsOf) == 0 {
			t.Errorf("node %d: next page %q, as of %v", n.index, res.NextPageToken, res.AsOf)
		}
	}
}

// Pages list each member once, while others join, leave and read between them. The counts on every
// page include all members.
func TestReceiptsAndReadersPageThroughAll(t *testing.T) {
	c := newCluster(t, 4, 2)
	var users, first []string
	for i := range 25 {
		users = append(users, fmt.Sprintf("user%02d", (i*7)%25))
	}
	c.join("c", append(users, "ann")...)
	c.post("c", "m1", "ann")
	for i, u := range users {
		if i%2 == 0 {
			c.readUpTo("c", u, 1)
		}
	}
	first = append(slices.Clone(users), "ann")
	for _, n := range c.nodes {
		var readers, recipients []string
		for req := (&queryv1.GetReadersRequest{ChannelId: "c", PageSize: 4}); ; {
			res := n.readers(t, req)
			for _, r := range res.Readers {
				readers = append(readers, r.UserId)
			}
			c.join("c", fmt.Sprintf("late%d-%d", n.index, len(readers)))
			if req.PageToken = res.NextPageToken; req.PageToken == "" || len(readers) > 100 {
				break
			}
		}
		if readers = readers[:min(len(readers), len(first))]; !slices.Equal(readers, first) {
			t.Errorf("node %d: readers %q, want first %q", n.index, readers, first)
		}
		for req := (&queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: "m1", PageSize: 4}); ; {
			res := n.receipts(t, req)
			if res.RecipientCount != 25 || res.ReadCount != 13 || res.Status != answer.StatusSent {
				t.Errorf("node %d: %s", n.index, receiptsText(res))
			}
			for _, r := range res.Recipients {
				recipients = append(recipients, r.UserId)
			}
			if req.PageToken = res.NextPageToken; req.PageToken == "" {
				break
			}
		}
		if !slices.Equal(recipients, users) {
			t.Errorf("node %d: recipients %q, want %q", n.index, recipients, users)
		}
	}
}

// An invalid call gets an explanation. A token of another channel, message or method is refused.
func TestReceiptsAndReadersRefusals(t *testing.T) {
	now := time.Now()
	c := newCluster(t, 4, 2, func(cfg *Config) { cfg.Now = func() time.Time { return now } })
	for _, ch := range []string{"c", "d"} {
		c.join(ch, "ann", "bob", "cid")
		c.post(ch, "m1", "ann")
		c.post(ch, "m2", "ann")
	}
	c.message("d", events.Message{Kind: events.KindMessagesPurged, MessageID: []byte("m1"), Target: events.TargetMessageID})
	token := c.nodes[0].receipts(t, &queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: "m1", PageSize: 1}).NextPageToken
	readers := c.nodes[1].readers(t, &queryv1.GetReadersRequest{ChannelId: "c", PageSize: 1}).NextPageToken
	for _, n := range c.nodes {
		refused := func(what string, code connect.Code, text string, err error) {
			t.Helper()
			if connect.CodeOf(err) != code || !strings.Contains(err.Error(), text) {
				t.Errorf("node %d, %s: %v, want %v with %q", n.index, what, err, code, text)
			}
		}
		ask := func(r *queryv1.GetReceiptsRequest) error {
			_, err := n.query.GetReceipts(t.Context(), connect.NewRequest(r))
			return err
		}
		list := func(r *queryv1.GetReadersRequest) error {
			_, err := n.query.GetReaders(t.Context(), connect.NewRequest(r))
			return err
		}
		refused("no message", connect.CodeInvalidArgument, "message_id is missing", ask(&queryv1.GetReceiptsRequest{ChannelId: "c"}))
		refused("an unknown channel", connect.CodeNotFound, `channel_id "x"`, ask(&queryv1.GetReceiptsRequest{ChannelId: "x", MessageId: "m1"}))
		refused("an unknown message", connect.CodeNotFound, `message_id "x"`, ask(&queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: "x"}))
		refused("a purged message", connect.CodeNotFound, `message_id "m1"`, ask(&queryv1.GetReceiptsRequest{ChannelId: "d", MessageId: "m1"}))
		refused("a large page", connect.CodeInvalidArgument, "page_size is 1001", ask(&queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: "m1", PageSize: 1001}))
		refused("a mangled token", connect.CodeInvalidArgument, "page_token", ask(&queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: "m1", PageToken: token + "x"}))
		refused("another message's token", connect.CodeInvalidArgument, "page_token", ask(&queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: "m2", PageToken: token}))
		refused("another method's token", connect.CodeInvalidArgument, "page_token", ask(&queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: "m1", PageToken: readers}))
		refused("a malformed after", connect.CodeInvalidArgument, "after[0]", ask(&queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: "m1", After: []string{"x"}}))
		refused("readers of an unknown channel", connect.CodeNotFound, `channel_id "x"`, list(&queryv1.GetReadersRequest{ChannelId: "x"}))
		refused("readers of no channel", connect.CodeInvalidArgument, "channel_id is missing", list(&queryv1.GetReadersRequest{}))
		refused("another channel's token", connect.CodeInvalidArgument, "page_token", list(&queryv1.GetReadersRequest{ChannelId: "d", PageToken: readers}))
	}
	now = now.Add(paging.MaxAge + time.Second)
	_, err := c.nodes[0].query.GetReaders(t.Context(), connect.NewRequest(&queryv1.GetReadersRequest{ChannelId: "c", PageToken: readers}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "has aged") {
		t.Errorf("an old token: %v", err)
	}
}

// A user sees the readers in the channels that they are a member of now. A message of another
// channel looks like one that does not exist.
func TestReceiptsAreForMembers(t *testing.T) {
	c := newCluster(t, 4, 2, func(c *Config) { c.Verifier = authtest.Verifier(t) })
	c.join("mine", "ann", "bob")
	c.join("other", "bob")
	c.post("mine", "m1", "bob")
	c.post("other", "m1", "bob")
	ann := authtest.Token(t, "ann", time.Hour)
	for _, n := range c.nodes {
		receipts := func(channel, message, token string) error {
			_, err := n.query.GetReceipts(t.Context(), called(&queryv1.GetReceiptsRequest{ChannelId: channel, MessageId: message}, token))
			return err
		}
		readers := func(channel, token string) error {
			_, err := n.query.GetReaders(t.Context(), called(&queryv1.GetReadersRequest{ChannelId: channel}, token))
			return err
		}
		for what, err := range map[string]error{
			"her channel": receipts("mine", "m1", ann), "its readers": readers("mine", ann), "a service": receipts("other", "m1", authtest.Service(t)),
		} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		wantCode(t, "no token", readers("mine", ""), connect.CodeUnauthenticated)
		var same []string
		for _, err := range []error{receipts("other", "m1", ann), receipts("other", "x", ann), receipts("missing", "m1", ann), readers("other", ann), readers("missing", ann)} {
			wantCode(t, "a channel of others", err, connect.CodeNotFound)
			same = append(same, strings.NewReplacer("other", "X", "missing", "X").Replace(fmt.Sprint(err)))
		}
		if len(slices.Compact(same)) != 1 {
			t.Errorf("answers tell one from the other: %q", same)
		}
	}
}
