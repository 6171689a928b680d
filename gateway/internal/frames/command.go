package frames

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/guard/httpguard"
	"github.com/tidemark/tidemark/internal/jsonw"
)

// Command is a client's frame. Unknown fields are ignored, as in events, because newer clients may
// send more.
type Command struct {
	Type       string   `json:"type"`
	ID         ID       `json:"id"`
	ChannelID  string   `json:"channel_id"`
	ThreadID   string   `json:"thread_id"`
	MessageID  string   `json:"message_id"`
	MessageIDs []string `json:"message_ids"`
	HeadSeq    uint32   `json:"head_seq"`
	Private    bool     `json:"private"`
	Muted      *bool    `json:"muted"`
	Token      string   `json:"token"`
	Shown      *int64   `json:"shown"` // sync: the badge that the client shows

	WithThreads      bool     `json:"with_threads"`
	ReadEpoch        uint32   `json:"read_epoch"`
	Level            string   `json:"level"`
	Until            string   `json:"until"`
	IgnoreMentionAll *bool    `json:"ignore_mention_all"`
	Flagged          *bool    `json:"flagged"`
	Archived         *bool    `json:"archived"`
	Keep             bool     `json:"keep"`
	Seq              uint32   `json:"seq"`
	UpToSeq          uint32   `json:"up_to_seq"`
	Labels           []string `json:"labels"`
}

// ID identifies a client's frame: a string or a number, kept as the JSON that the answer repeats.
// It is empty if the client wants no answer: no id, "" or null.
type ID []byte

// maxID is the maximum length of a frame's id, which answers repeat, in bytes before JSON escapes.
const maxID = 128

var errLongID = errors.New("the id is too long")

// UnmarshalJSON decodes a string or a number.
func (id *ID) UnmarshalJSON(b []byte) error {
	*id = nil
	switch b[0] {
	case '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		if len(s) > maxID {
			return errLongID
		}
		if s != "" {
			*id = jsonw.AppendSafe(nil, s)
		}
	case 'n':
	case '{', '[', 't', 'f':
		kind := map[byte]string{'{': "object", '[': "array"}[b[0]]
		return &json.UnmarshalTypeError{Value: cmp.Or(kind, "bool"), Field: "id"}
	default: // a number
		if len(b) > maxID {
			return errLongID
		}
		*id = append(ID{}, b...)
	}
	return nil
}

// Error is the reason why a frame was refused: a code for programs and a text for people.
type Error struct{ code, message string }

// Error returns the message.
func (e *Error) Error() string { return e.message }

// Refuse creates an Error.
func Refuse(code, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Codes of error frames, those of the query service.
const (
	Invalid     = "invalid_argument"
	NotFound    = "not_found"
	Exhausted   = "resource_exhausted"
	Unavailable = "unavailable"
	Internal    = "internal"
	// Unimplemented: a part of the contract that this version does not have.
	Unimplemented = "unimplemented"
)

// Parse decodes a frame and checks the fields that all types have. With an error it still returns
// what it could decode, because the answer needs the id.
func Parse(body []byte) (Command, error) {
	var c Command
	if err := json.Unmarshal(body, &c); err != nil {
		var typ *json.UnmarshalTypeError
		switch {
		case errors.Is(err, errLongID):
			return Command{}, Refuse(Invalid, "id: at most %d bytes", maxID)
		case errors.As(err, &typ) && typ.Field != "":
			return Command{ID: c.ID}, Refuse(Invalid, "field %.40q does not take a value of type %s", typ.Field, typ.Value)
		}
		return Command{}, Refuse(Invalid, "the frame is not a JSON object")
	}
	if err := Need("type", c.Type); err != nil {
		return c, err
	}
	for _, f := range []struct{ name, id string }{
		{"channel_id", c.ChannelID}, {"thread_id", c.ThreadID}, {"message_id", c.MessageID},
	} {
		if f.id != "" && !events.ValidID([]byte(f.id)) {
			return c, Refuse(Invalid, "%s: 1 to %d bytes without control characters", f.name, events.MaxIDBytes)
		}
	}
	return c, nil
}

// IDIf appends the answered frame's id, if it has one.
func IDIf(b []byte, id ID) []byte {
	if len(id) == 0 {
		return b
	}
	return append(Key(b, "id"), id...)
}

// Need returns an error if a field is missing.
func Need(name, value string) error {
	if value == "" {
		return Refuse(Invalid, "%s is missing", name)
	}
	return nil
}

// Ack answers a successful command. after has the tokens of the records that it made.
func Ack(id ID, after []string) []byte {
	b := IDIf(Begin(make([]byte, 0, 96), "ack"), id)
	b = append(Key(b, "after"), '[')
	for i, token := range after {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonw.AppendSafe(b, token)
	}
	return append(b, ']', '}')
}

// Failure answers a failed command with the reason.
func Failure(id ID, err error) []byte {
	e := errorOf(err)
	b := IDIf(Begin(make([]byte, 0, 128), "error"), id)
	b = Text(b, "code", e.code)
	return append(Text(b, "message", e.message), '}')
}

// Code returns the code of Failure's answer for err.
func Code(err error) string { return errorOf(err).code }

func errorOf(err error) *Error {
	e := &Error{Unavailable, "the event could not be written: try again"}
	if guard.Of(err) != nil { // clients get no details of a panic
		e = &Error{Internal, httpguard.Answer}
	}
	errors.As(err, &e)
	return e
}
