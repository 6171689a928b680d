package museum

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/script"
)

// showBroadcast says what the members of a channel were shown since it was asked before: who read and who received how far.
// What is published about the channel stands in one partition of tidemark.receipts with what is published later about a
// channel beside it.
func (l *tale) showBroadcast(q *question, expected string) string {
	l.t.Helper()
	l.fenceReceipts(q)
	text := func() string { return q.channel + ": " + l.receiptText(l.site.shown.about(q.wireC, true)) }
	saw, _ := eventually(func() (bool, string) {
		saw := text()
		return l.isExpected(saw, expected), saw
	})
	l.site.shown.about(q.wireC, false)
	return saw
}

func (l *tale) receiptText(r receipts) string {
	var out []string
	for _, of := range []struct {
		what  string
		users map[string]events.Receipt
	}{{"read", r.read}, {"delivered", r.delivered}} {
		for _, user := range slices.Sorted(maps.Keys(of.users)) {
			x := of.users[user]
			out = append(out, fmt.Sprintf("%s %s up to %s at %s", l.names[user], of.what, x.MessageID, script.FormatTime(x.At-l.shift)))
		}
	}
	if len(out) == 0 {
		return "nothing is shown"
	}
	return strings.Join(out, ", ")
}

// fenceReceipts lets somebody read in a small channel of the same partition, and waits until that is shown: twice, as the
// first may be in one set with what was published about q.
func (l *tale) fenceReceipts(q *question) {
	l.t.Helper()
	beside := ""
	for i := 0; ; i++ {
		beside = fmt.Sprintf("beside%d", i)
		if events.PartitionOf([]byte(l.wireChannel(beside)), partitions) == events.PartitionOf([]byte(q.wireC), partitions) {
			break
		}
	}
	for range 2 {
		wire := l.wireChannel(beside)
		before := l.site.shown.about(wire, true).records
		l.fences++
		l.event(fmt.Sprintf("fenced1, fenced2 join #%s", beside))
		l.event(fmt.Sprintf("fenced1 posts fence%d #%s", l.fences, beside))
		l.event(fmt.Sprintf("fenced2 reads up to fence%d #%s", l.fences, beside))
		l.publish()
		if saw, ok := eventually(func() (bool, string) {
			n := l.site.shown.about(wire, true).records
			return n > before, fmt.Sprintf("%d records of #%s", n, beside)
		}); !ok {
			l.t.Fatalf("%s: no receipt is shown for a fence: %s", l.name, saw)
		}
	}
}
