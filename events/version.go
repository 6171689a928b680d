package events

import (
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// Version is the version of the input contract (DESIGN §3) that this build understands, but for
// what is unfolded.
const Version = 2

// parts are parts of Version.
type parts struct {
	kinds                              [NumKinds]bool
	hiddenFrom, marksRead, withThreads bool
}

// unfolded is what this build decodes and does not fold: nothing. To skip it would be silent loss:
// a record that needs Version and has any of it stops its partition, as one of a newer version
// does. A record that needs less never meant these fields.
var unfolded = parts{}

// beyond names what of the event is unfolded, "" if nothing is.
func (m *Message) beyond() string {
	switch {
	case unfolded.kinds[m.Kind]:
		return m.Kind.String()
	case len(m.HiddenFrom) > 0 && unfolded.hiddenFrom:
		return "hidden_from"
	case m.MarksRead != NotStated && unfolded.marksRead:
		return "marks_read"
	}
	return ""
}

// forget leaves out the fields that are unfolded.
func (m *Message) forget() {
	m.HiddenFrom, m.MarksRead = m.HiddenFrom[:0], NotStated
}

// beyond is Message.beyond of a read.
func (r *Read) beyond() string {
	switch {
	case unfolded.kinds[r.Kind]:
		return r.Kind.String()
	case r.WithThreads && unfolded.withThreads:
		return "with_threads"
	}
	return ""
}

// Unfolded names the parts of Version that this build refuses, as the schemas name them: for those
// who offer people only what is folded.
func Unfolded() []string {
	list := []string{}
	for k, is := range unfolded.kinds {
		if is {
			list = append(list, Kind(k).String()) //nolint:gosec // there are NumKinds
		}
	}
	for _, field := range []struct {
		name string
		is   bool
	}{{"hidden_from", unfolded.hiddenFrom}, {"marks_read", unfolded.marksRead}, {"with_threads", unfolded.withThreads}} {
		if field.is {
			list = append(list, field.name)
		}
	}
	return list
}

func lacking(name string) error {
	return &Error{Reason: ReasonNewerVersion, Field: name, Detail: "the record needs a part of version " + strconv.Itoa(Version) +
		" that this build does not know: upgrade it"}
}

// StateVersion raises the min_version of an event to that of the oldest version that understands
// all of it. It is for those who produce what others made: an older build would take the event for
// another, or for a bad record.
func StateVersion(event proto.Message) {
	switch e := event.(type) {
	case *eventsv1.MessageEvent:
		posted, deleted := e.GetMessagePosted(), e.GetMessageDeleted()
		if e.GetMessagesSeeded() != nil || e.GetChannelUpdated() != nil || (deleted != nil && deleted.MessageId == "") ||
			len(posted.GetHiddenFrom()) > 0 || (posted != nil && posted.MarksRead != nil) {
			e.MinVersion = max(e.MinVersion, 2)
		}
	case *eventsv1.ReadEvent:
		switch k := e.Kind.(type) {
		case *eventsv1.ReadEvent_NotifySet, *eventsv1.ReadEvent_FlagSet, *eventsv1.ReadEvent_ChannelFiled, *eventsv1.ReadEvent_MessagesHidden,
			*eventsv1.ReadEvent_LineSet, *eventsv1.ReadEvent_MessagesViewed, *eventsv1.ReadEvent_LabelsSet:
			e.MinVersion = max(e.MinVersion, 2)
		case *eventsv1.ReadEvent_MarkedUnread:
			if k.MarkedUnread.GetSeq() != 0 {
				e.MinVersion = max(e.MinVersion, 2)
			}
		case *eventsv1.ReadEvent_ReadUpTo:
			if k.ReadUpTo.GetWithThreads() {
				e.MinVersion = max(e.MinVersion, 2)
			}
		}
	}
}

func newerVersion(v uint32) error {
	return &Error{Reason: ReasonNewerVersion, Field: "min_version", Detail: "the record needs version " +
		strconv.FormatUint(uint64(v), 10) + ", this build understands " + strconv.Itoa(Version) + ": upgrade it"}
}
