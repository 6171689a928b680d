package position

import (
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

var testTopics = Topics(events.InputTopics)

func TestAsOfNamesTheLastRecordFolded(t *testing.T) {
	got := testTopics.AsOf([]string{"before"}, 7, projections.Position{1, 0, 43})
	// Offset 0 is a valid record. An input of which nothing was folded has no token.
	want := []string{"before", "chat.messages/7/0", "chat.deliveries/7/42"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAfterTakesAsOfBack(t *testing.T) {
	tokens := testTopics.AsOf(nil, 3, projections.Position{10, 20, 30})
	tokens = append(tokens, "chat.reads/3/5", "chat.messages/0/0", "chat.reads/3/25")
	a, err := testTopics.ParseAfter(tokens, 4)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Requirement{9, 25, 29}); a[3] != want {
		t.Errorf("partition 3: got %v, want %v: the furthest token of each topic counts", a[3], want)
	}
	if want := (Requirement{0, -1, -1}); a[0] != want {
		t.Errorf("partition 0: got %v, want %v", a[0], want)
	}
	want := []string{"chat.messages/0/0", "chat.messages/3/9", "chat.reads/3/25", "chat.deliveries/3/29"}
	if got := testTopics.Tokens(a); !slices.Equal(got, want) {
		t.Errorf("written out again: got %q, want %q", got, want)
	}
}

func TestMalformedAfterIsRefusedByIndex(t *testing.T) {
	for _, c := range []struct{ token, message string }{
		{"", `want "topic/partition/offset"`},
		{"chat.messages", `want "topic/partition/offset"`},
		{"chat.messages/1", `want "topic/partition/offset"`},
		{"/1/1", `want "topic/partition/offset"`},
		{"chat.messages/-1/1", `want "topic/partition/offset"`},
		{"chat.messages/+1/1", `want "topic/partition/offset"`},
		{"chat.messages/1/-1", `want "topic/partition/offset"`},
		{"chat.messages/1/", `want "topic/partition/offset"`},
		{"chat.messages//1", `want "topic/partition/offset"`},
		{"chat.messages/1/1 ", `want "topic/partition/offset"`},
		{"chat.messages/0x1/1", `want "topic/partition/offset"`},
		{"chat.messages/1/9223372036854775808", `want "topic/partition/offset"`},
		{"chat.messages/2147483648/1", `want "topic/partition/offset"`},
		{"chat.message/1/1", `"chat.message" is none of the input topics`},
		{"tidemark.unread/1/1", `none of the input topics chat.messages, chat.reads, chat.deliveries`},
		{"chat.messages/4/1", "there are 4 partitions, 0 to 3"},
		{strings.Repeat("x", 1<<16), `want "topic/partition/offset"`},
	} {
		_, err := testTopics.ParseAfter([]string{"chat.messages/1/1", c.token}, 4)
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%.40q: got %v, want invalid_argument", c.token, err)
			continue
		}
		if !strings.Contains(err.Error(), "after[1]") || !strings.Contains(err.Error(), c.message) || len(err.Error()) > 600 {
			t.Errorf("%.40q: the error says %q, want after[1] and %q", c.token, err, c.message)
		}
	}
	_, err := testTopics.ParseAfter(slices.Repeat([]string{"chat.messages/1/1"}, 13), 4)
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "after has more than 12 tokens, three for each partition") {
		t.Errorf("too many tokens: got %v", err)
	}
}
