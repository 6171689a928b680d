package checker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// Lied returns a copy of a record of tidemark.unread with a changed value, which a check must find.
func Lied(t testing.TB, r *kgo.Record, lie func(*events.UnreadDelta)) *kgo.Record {
	t.Helper()
	var d events.UnreadDelta
	if err := events.DecodeUnreadDelta(r.Value, &d); err != nil {
		t.Fatal(err)
	}
	lie(&d)
	other := *r
	other.Value = events.AppendUnreadDelta(nil, &d)
	return &other
}
