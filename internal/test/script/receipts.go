package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/projections"
)

// FormatReceipts describes who received and who read a message, recipients by name.
func FormatReceipts(v *projections.ReceiptsView) string {
	var w words
	w.add(fmt.Sprintf("%s: read by %d of %d, got by %d", refName(projections.Ref{MessageID: v.MessageID, Seq: v.Seq}), v.Read, v.Recipients, v.Delivered))
	list := slices.Clone(v.List)
	slices.SortFunc(list, func(a, b projections.Receipt) int { return cmp.Compare(a.UserID, b.UserID) })
	for i := range list {
		r := &list[i]
		w.add("|", r.UserID)
		switch {
		case !r.Delivered:
			w.add("sent")
		case !r.Read:
			w.add("got", when(r.DeliveredAt))
		case r.DeliveredAt != r.ReadAt:
			w.add("got", when(r.DeliveredAt), "read", when(r.ReadAt))
		default:
			w.add("read", when(r.ReadAt))
		}
	}
	return strings.Join(w, " ")
}

// when formats a time, or states that it is no longer known.
func when(ms int64) string {
	if ms == 0 {
		return "long ago"
	}
	return "at " + FormatTime(ms)
}

// FormatReaders describes how far each member has read, by name.
func FormatReaders(channel string, list []projections.Reader) string {
	var w words
	w.add("#" + channel + ":")
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b projections.Reader) int { return cmp.Compare(a.UserID, b.UserID) })
	for i := range list {
		if i > 0 {
			w.add("|")
		}
		w.add(list[i].UserID, pointer(list[i].Message, list[i].At))
	}
	return strings.Join(w, " ")
}
