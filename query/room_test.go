package query

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/query/queryv1"
)

// TestAnswersKeepNothingOfTheirRoom: the next answer reuses the memory of an earlier answer, and
// changes nothing of the earlier one.
func TestAnswersKeepNothingOfTheirRoom(t *testing.T) {
	const channels, threads = 300, 300
	c := newCluster(t, 2, 1)
	for i := range channels {
		ch := fmt.Sprintf("c%d", i)
		c.join(ch, "ann", "bob", "mia")
		c.post(ch, "m", "bob")
	}
	for i := range threads {
		ch, root := fmt.Sprintf("c%d", i), fmt.Sprintf("root%d", i)
		c.post(ch, root, "bob")
		c.reply(ch, root, root+"-1", "bob", []string{"ann", "mia"}[i%2])
	}
	l := NewLocal(c.nodes[0].cfg)
	var answers, copies []proto.Message
	for range 3 {
		for _, user := range []string{"ann", "mia"} {
			inbox, err := l.GetInbox(t.Context(), &queryv1.GetInboxRequest{UserId: user, PageSize: 200, EvaluatedAt: timestamppb.New(noon)})
			if err != nil || len(inbox.Channels) != 200 {
				t.Fatalf("%d channels of %s, %v", len(inbox.GetChannels()), user, err)
			}
			panel, err := l.GetThreads(t.Context(), &queryv1.GetThreadsRequest{UserId: user, PageSize: 100, EvaluatedAt: timestamppb.New(noon)})
			if err != nil || len(panel.Threads) != 100 {
				t.Fatalf("%d threads of %s, %v", len(panel.GetThreads()), user, err)
			}
			answers = append(answers, inbox, panel)
			copies = append(copies, proto.Clone(inbox), proto.Clone(panel))
			for i := range answers {
				if !proto.Equal(answers[i], copies[i]) {
					t.Fatalf("answer %d is\n%v\nand was\n%v", i, answers[i], copies[i])
				}
			}
		}
	}
	for i := 4; i < len(answers); i++ { // nothing was folded, so each answer is unchanged
		if !proto.Equal(withoutToken(answers[i]), withoutToken(answers[i-4])) {
			t.Fatalf("answer %d is\n%v\nand was\n%v", i, answers[i], answers[i-4])
		}
	}
}

func withoutToken(m proto.Message) proto.Message {
	m = proto.Clone(m)
	switch m := m.(type) {
	case *queryv1.GetInboxResponse:
		m.NextPageToken = ""
	case *queryv1.GetThreadsResponse:
		m.NextPageToken = ""
	}
	return m
}
