package events

import (
	"slices"
	"testing"
)

func TestLatestTokens(t *testing.T) {
	for _, c := range []struct{ in, want []string }{
		{nil, nil},
		{[]string{"chat.reads/0/7"}, []string{"chat.reads/0/7"}},
		{[]string{"chat.messages/0/9", "chat.reads/0/1", "chat.messages/0/10", "chat.messages/1/3", "chat.messages/0/2"},
			[]string{"chat.messages/0/10", "chat.reads/0/1", "chat.messages/1/3"}},
		{[]string{"nonsense", "chat.reads/0/x", "chat.reads/0/3", "nonsense"}, []string{"nonsense", "chat.reads/0/3", "nonsense"}},
		{[]string{"a/b/0/1", "a/b/0/2"}, []string{"a/b/0/2"}},
	} {
		if got := LatestTokens(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.in, got, c.want)
		}
	}
}
