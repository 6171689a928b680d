package frames

import "google.golang.org/protobuf/types/known/timestamppb"

// reader is an element of a list of readers: a Receipt of an event, or a Reader of an answer.
type reader interface {
	GetUserId() string
	GetMessageId() string
	GetSeq() uint32
	GetAt() *timestamppb.Timestamp
}

// Readers appends a list of readers. A member who has read nothing has no message and no time.
func Readers[R reader](b []byte, list []R) []byte {
	b = append(Key(b, "readers"), '[')
	for i, r := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = Text(append(b, '{'), "user_id", r.GetUserId())
		b = TextIf(b, "message_id", r.GetMessageId())
		b = Number(b, "seq", uint64(r.GetSeq()))
		if at := r.GetAt(); at != nil {
			b = Instant(b, "at", at.AsTime().UnixMilli())
		}
		if t, ok := any(r).(interface{ GetWithThreads() bool }); ok && t.GetWithThreads() {
			b = Bool(b, "with_threads", true)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
