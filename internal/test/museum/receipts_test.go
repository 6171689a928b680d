package museum

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/query/queryv1"
)

// showBroadcast returns the receipts that were published for a channel since the previous call: who
// read and who received, and how far. They precede the receipts of a second channel in the same
// partition of tidemark.receipts, which it uses as a fence.
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

// showReceipts returns who received and who read a message, read in pages of two. It checks the
// counts and the status against the list.
func (l *tale) showReceipts(q *question) string {
	l.t.Helper()
	var first *queryv1.GetReceiptsResponse
	var list []*queryv1.Recipient
	for token := ""; ; {
		page, err := tried(l.site.query.GetReceipts, &queryv1.GetReceiptsRequest{
			ChannelId: q.wireC, MessageId: q.message, PageSize: pageOf, PageToken: token, After: l.after,
		})
		if notFound(err) {
			return q.message + ": no such message"
		} else if err != nil {
			l.t.Fatalf("%s: GetReceipts: %v", l.name, err)
		}
		if first == nil {
			first = page
		}
		list = append(list, page.Recipients...)
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	var read, delivered uint32
	var out []string
	for _, r := range list {
		name := l.names[r.UserId]
		switch r.Status {
		case "read":
			read++
			delivered++
			out = append(out, fmt.Sprintf("%s read%s", name, l.atTime(r.ReadAt)))
		case "delivered":
			delivered++
			out = append(out, fmt.Sprintf("%s delivered%s", name, l.atTime(r.DeliveredAt)))
		default:
			out = append(out, name+" "+r.Status)
		}
	}
	status := "sent"
	switch n := uint32(len(list)); {
	case n > 0 && read == n:
		status = "read"
	case n > 0 && delivered == n:
		status = "delivered"
	}
	if first.RecipientCount != uint32(len(list)) || first.ReadCount != read || first.DeliveredCount != delivered || first.Status != status {
		l.t.Errorf("%s: of %d recipients %d have read %s and %d have it, but GetReceipts says %v", l.name, len(list), read, q.message, delivered, first)
	}
	if len(out) > 6 {
		out = append(out[:6:6], fmt.Sprintf("and %d more", len(list)-6))
	}
	return fmt.Sprintf("%s: %s, read by %d of %d, delivered to %d | %s", q.message, status, read, len(list), delivered, strings.Join(out, ", "))
}

// pageOf is the page size for receipts and readers, small enough for several pages.
const pageOf = 7

func (l *tale) atTime(at *timestamppb.Timestamp) string {
	if at == nil {
		return ""
	}
	return " at " + script.FormatTime(l.when(at))
}

// showReaders returns how far each member of a channel has read.
func (l *tale) showReaders(q *question) string {
	l.t.Helper()
	var out []string
	for token := ""; ; {
		page, err := tried(l.site.query.GetReaders, &queryv1.GetReadersRequest{
			ChannelId: q.wireC, PageSize: pageOf, PageToken: token, After: l.after,
		})
		if notFound(err) {
			return "there is no #" + q.channel
		} else if err != nil {
			l.t.Fatalf("%s: GetReaders: %v", l.name, err)
		}
		for _, r := range page.Readers {
			where := "nothing"
			if r.Seq > 0 {
				where = r.MessageId + l.atTime(r.At)
			}
			out = append(out, l.names[r.UserId]+" "+where)
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	return fmt.Sprintf("#%s: %s", q.channel, strings.Join(out, ", "))
}

// fenceReceipts has a user read in a small channel of the same partition and waits for the receipt.
// It does so twice, because the first receipt may be in the same set as those about q.
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
