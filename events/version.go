package events

import (
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// Version is the version of the input contract (DESIGN §3) that this build understands, except for
// unfolded.
const Version = 2

// parts are parts of Version.
type parts struct {
	kinds                              [NumKinds]bool
	hiddenFrom, marksRead, withThreads bool
}

// unfolded lists the parts of Version that this build decodes but does not fold; at present there
// are none. Skipping them would be silent loss, so a record that needs Version and has such a part
// stops its partition, like a record of a newer version. In a record of an older version these
// fields have no meaning.
var unfolded = parts{}

// beyond returns the name of an unfolded part of the event, "" if there is none.
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

// forget clears the unfolded fields.
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

// Unfolded returns the parts of Version that this build refuses, by their names in the schemas, for
// programs that offer only what is folded.
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

// StateVersion raises the min_version of an event to the oldest version that understands all of it.
// Programs that produce events of other programs call it: without it an older build would misread
// the event or treat it as a bad record.
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
