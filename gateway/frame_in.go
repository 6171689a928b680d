package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/events"
)

// command is a client's frame. Fields that are not known are ignored, as in events: a newer client may say more.
type command struct {
	Type       string   `json:"type"`
	ID         frameID  `json:"id"`
	ChannelID  string   `json:"channel_id"`
	ThreadID   string   `json:"thread_id"`
	MessageID  string   `json:"message_id"`
	MessageIDs []string `json:"message_ids"`
	HeadSeq    uint32   `json:"head_seq"`
	Private    bool     `json:"private"`
	Muted      *bool    `json:"muted"`
	Token      string   `json:"token"`
}

// frameID is what a client calls a frame by: a string or a number, kept as the JSON that its answer carries. Empty: the
// client wants no answer, and said none or "" or null.
type frameID []byte

// maxCommandID bounds a frame's id, which is echoed, in bytes before JSON escapes any.
const maxCommandID = 128

var errLongID = errors.New("the id is too long")

// UnmarshalJSON takes a string or a number.
func (id *frameID) UnmarshalJSON(b []byte) error {
	*id = nil
	switch b[0] {
	case '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		if len(s) > maxCommandID {
			return errLongID
		}
		if s != "" {
			*id = appendString(nil, s)
		}
	case 'n':
	case '{', '[', 't', 'f':
		kind := map[byte]string{'{': "object", '[': "array"}[b[0]]
		return &json.UnmarshalTypeError{Value: cmp.Or(kind, "bool"), Field: "id"}
	default: // a number
		if len(b) > maxCommandID {
			return errLongID
		}
		*id = append(frameID{}, b...)
	}
	return nil
}

// frameError is why a frame was refused: a code for programs and words for people.
type frameError struct{ code, message string }

// Error is the words.
func (e *frameError) Error() string { return e.message }

func refuse(code, format string, args ...any) error {
	return &frameError{code, fmt.Sprintf(format, args...)}
}

// Codes of error frames, those of the query service.
const (
	codeInvalid     = "invalid_argument"
	codeNotFound    = "not_found"
	codeExhausted   = "resource_exhausted"
	codeUnavailable = "unavailable"
)

// parse reads a frame and checks what every type has in common. The command is returned also with an error, as far as it
// was understood: its id goes into the answer.
func parse(body []byte) (command, error) {
	var c command
	if err := json.Unmarshal(body, &c); err != nil {
		var typ *json.UnmarshalTypeError
		switch {
		case errors.Is(err, errLongID):
			return command{}, refuse(codeInvalid, "id: at most %d bytes", maxCommandID)
		case errors.As(err, &typ) && typ.Field != "":
			return command{ID: c.ID}, refuse(codeInvalid, "field %.40q does not take a value of type %s", typ.Field, typ.Value)
		}
		return command{}, refuse(codeInvalid, "the frame is no JSON object")
	}
	for _, f := range []struct{ name, id string }{
		{"channel_id", c.ChannelID}, {"thread_id", c.ThreadID}, {"message_id", c.MessageID},
	} {
		if f.id != "" && !events.ValidID([]byte(f.id)) {
			return c, refuse(codeInvalid, "%s: 1 to %d bytes without control characters", f.name, events.MaxIDBytes)
		}
	}
	return c, nil
}

// idIf names the frame that is answered, if it has an id.
func idIf(b []byte, id frameID) []byte {
	if len(id) == 0 {
		return b
	}
	return append(key(b, "id"), id...)
}

// need checks that a field was given.
func need(name, value string) error {
	if value == "" {
		return refuse(codeInvalid, "%s is missing", name)
	}
	return nil
}

// ackFrame answers a command that was done: after are the records that it became.
func ackFrame(id frameID, after []string) []byte {
	b := idIf(begin(make([]byte, 0, 96), "ack"), id)
	b = append(key(b, "after"), '[')
	for i, token := range after {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, token)
	}
	return append(b, ']', '}')
}

// errorFrame answers a command that was not done.
func errorFrame(id frameID, err error) []byte {
	e := &frameError{codeUnavailable, "the event could not be written: try again"}
	errors.As(err, &e)
	b := idIf(begin(make([]byte, 0, 128), "error"), id)
	b = text(b, "code", e.code)
	return append(text(b, "message", e.message), '}')
}
