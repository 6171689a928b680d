package chaos

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// stranger is a user that no event names.
const stranger = "nobody"

// checkAnswers queries every user and channel, each on a random node, and compares the answers with
// the model (O1, O4).
func (c *cluster) checkAnswers(tr *checker.Log, r *rand.Rand) *checker.Findings {
	c.t.Helper()
	f := &checker.Findings{What: "GetUnread against the model of the log"}
	var clients []queryv1connect.QueryServiceClient
	for _, n := range c.nodes {
		clients = append(clients, queryv1connect.NewQueryServiceClient(http.DefaultClient, n.url))
	}
	ctx, cancel := context.WithTimeout(context.Background(), longPatience)
	defer cancel()
	for _, channel := range tr.Channels() {
		for _, user := range append([]string{stranger}, tr.Users...) {
			at := r.IntN(len(clients))
			who := c.nodes[at].name
			res, err := ask(ctx, c, clients[at].GetUnread, &queryv1.GetUnreadRequest{UserId: user, ChannelId: channel, After: tr.After})
			want, ok := tr.View(user, channel)
			switch {
			case connect.CodeOf(err) == connect.CodeNotFound && err != nil:
				if ok {
					f.Add("%s, %s: %s says there is no such channel, want %+v", user, channel, who, answerOf(&want))
				}
			case err != nil:
				f.Add("%s, %s: %s says: %v", user, channel, who, err)
			case !ok:
				f.Add("%s, %s: %s says %+v, but the channel is gone", user, channel, who, answered(res))
			case answered(res) != answerOf(&want):
				f.Add("%s, %s: %s says\n    %+v\n  but it is\n    %+v", user, channel, who, answered(res), answerOf(&want))
			}
		}
	}
	return f
}

// ask repeats a query while it is unavailable, as clients should: on a busy machine a broker or a
// node may stall for seconds.
func ask[Req, Res any](ctx context.Context, c *cluster, method func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error), req *Req) (*Res, error) {
	deadline := time.Now().Add(c.retries)
	for {
		res, err := method(ctx, connect.NewRequest(req))
		switch {
		case err == nil:
			return res.Msg, nil
		case connect.CodeOf(err) != connect.CodeUnavailable || time.Now().After(deadline):
			return nil, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// answer has all fields of GetUnread in a comparable form.
type answer struct {
	Member                   bool
	Unread, Mentions, Queued uint32
	FirstUnread, LastRead    projections.Ref
	LastReadAt               int64
	Latest                   projections.Head
	Muted                    bool
	ReadEpoch                uint32
}

func answerOf(v *projections.View) answer {
	a := answer{
		Member: v.Member, Unread: v.Unread, Mentions: v.Mentions, Queued: v.OfflineUnread,
		FirstUnread: v.FirstUnread, LastRead: v.LastRead, Latest: v.Latest, Muted: v.Muted, ReadEpoch: v.ReadEpoch,
	}
	a.Latest.Pos = 0 // not in the answer
	if a.LastRead.Seq > 0 {
		a.LastReadAt = v.LastReadAt
	}
	return a
}

func answered(m *queryv1.ChannelUnread) answer {
	a := answer{
		Member: m.GetMember(), Unread: m.GetUnread(), Mentions: m.GetMentions(), Queued: m.GetOfflineUnread(),
		FirstUnread: projections.Ref{MessageID: m.GetFirstUnread().GetMessageId(), Seq: m.GetFirstUnread().GetSeq()},
		LastRead:    projections.Ref{MessageID: m.GetLastRead().GetMessageId(), Seq: m.GetLastRead().GetSeq()},
		Muted:       m.GetMuted(), ReadEpoch: m.GetReadEpoch(),
	}
	if m.GetLastRead() != nil {
		a.LastReadAt = m.GetLastRead().GetAt().AsTime().UnixMilli()
	}
	if l := m.GetLatest(); l != nil {
		a.Latest = projections.Head{MessageID: l.GetMessageId(), Seq: l.GetSeq(), At: l.GetAt().AsTime().UnixMilli(),
			SenderID: l.GetSenderId(), Preview: l.GetPreview()}
	}
	return a
}
