package codec

import (
	"bytes"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/query/ingestv1"
)

const (
	// maxElements limits the fields, list entries and messages of one request. Two bytes of a
	// request can become a string or a message, which takes 16 to 100 bytes of memory.
	maxElements = 512 << 10
	// plainBytes is the size up to which the elements of a request, or of one event, are not
	// counted.
	plainBytes = 1 << 10
	// MaxEvents limits the events of one Publish.
	MaxEvents = 1000
	// spare is how many elements a query may have besides its `after`.
	spare = 64
)

// bounds refuses, before decoding, requests that would decode into far more memory than they have
// bytes. The decoder finds all other faults.
type bounds struct {
	tokens func() int // how many tokens `after` may have
}

// Options returns the codecs of the services, Protobuf and JSON, with these limits. tokens returns
// how many tokens the `after` of a request may have.
func Options(tokens func() int) []connect.HandlerOption {
	within := bounds{tokens}
	return []connect.HandlerOption{
		connect.WithCodec(boundedProto{within}),
		connect.WithCodec(boundedJSON{jsonCodec{"json"}, within}),
		connect.WithCodec(boundedJSON{jsonCodec{"json; charset=utf-8"}, within}),
	}
}

func errTooManyElements() error {
	return fmt.Errorf("the request has more than %d fields and list entries", maxElements)
}

func errTooManyEvents() error {
	return fmt.Errorf("events has more than %d events, which is the limit", MaxEvents)
}

// ErrTooManyTokens refuses an `after` with more than limit tokens.
func ErrTooManyTokens(limit int) error {
	return fmt.Errorf("after has more than %d tokens, three for each partition: keep the highest offset of each topic and partition", limit)
}

// proto checks b as the Protobuf encoding of m.
func (l bounds) proto(m proto.Message, b []byte) error {
	if _, is := m.(*ingestv1.PublishRequest); is {
		return publishBounds(m.ProtoReflect().Descriptor(), b)
	}
	if len(b) <= plainBytes {
		return nil
	}
	limit := l.tokens()
	if count(m.ProtoReflect().Descriptor(), b, limit+spare) < 0 {
		return ErrTooManyTokens(limit)
	}
	return nil
}

// publishBounds counts the events, and the elements of large events only: 1,000 events of
// plainBytes have at most maxElements.
func publishBounds(d protoreflect.MessageDescriptor, b []byte) error {
	events, left := 0, maxElements
	event := d.Fields().ByName("events")
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		size := protowire.ConsumeFieldValue(num, kind, b[n:])
		if size < 0 {
			return nil
		}
		if num == event.Number() && kind == protowire.BytesType {
			if events++; events > MaxEvents {
				return errTooManyEvents()
			}
			if size > plainBytes {
				value, _ := protowire.ConsumeBytes(b[n:])
				if left = count(event.Message(), value, left); left < 0 {
					return errTooManyElements()
				}
			}
		} else if left--; left < 0 {
			return errTooManyElements()
		}
		b = b[n+size:]
	}
	return nil
}

// count subtracts the number of elements of b, which encodes a message of type d, from left, and
// stops below zero. No message of these services contains itself, so the recursion is no deeper
// than their nesting.
func count(d protoreflect.MessageDescriptor, b []byte, left int) int {
	for len(b) > 0 && left >= 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return left
		}
		size := protowire.ConsumeFieldValue(num, kind, b[n:])
		if size < 0 {
			return left
		}
		left--
		if kind == protowire.BytesType {
			if f := d.Fields().ByNumber(num); f != nil {
				value, _ := protowire.ConsumeBytes(b[n:])
				switch {
				case f.Message() != nil:
					left = count(f.Message(), value, left)
				case f.IsPacked():
					left -= len(value)
				}
			}
		}
		b = b[n+size:]
	}
	return left
}

// json checks b as the JSON of m.
func (l bounds) json(m proto.Message, b []byte) error {
	if len(b) <= plainBytes {
		return nil
	}
	if _, is := m.(*ingestv1.PublishRequest); is {
		elements, events := jsonElements(b)
		switch {
		case events > MaxEvents:
			return errTooManyEvents()
		case elements > maxElements:
			return errTooManyElements()
		}
		return nil
	}
	limit := l.tokens()
	if elements, _ := jsonElements(b); elements > limit+spare {
		return ErrTooManyTokens(limit)
	}
	return nil
}

// jsonElements returns the number of members and list entries of b, or slightly more, and the
// number of those in a list of the outermost object (the events of a Publish). It does not validate
// the JSON.
func jsonElements(b []byte) (elements, second int) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b); i++ {
				n := bytes.IndexAny(b[i:], `"\`)
				if n < 0 {
					return elements, second
				}
				if i += n; b[i] == '"' {
					break
				}
				i++ // the escaped character
			}
		case '{', '[':
			depth++
			elements++
			if depth == 3 && second == 0 {
				second = 1
			}
		case '}', ']':
			depth--
		case ',':
			elements++
			if depth == 2 {
				second++
			}
		}
	}
	return elements, second
}

// boundedJSON is jsonCodec with limits.
type boundedJSON struct {
	jsonCodec
	bounds
}

// Unmarshal refuses messages beyond the limits.
func (c boundedJSON) Unmarshal(b []byte, m any) error {
	if msg, ok := m.(proto.Message); ok {
		if err := c.json(msg, b); err != nil {
			return err
		}
	}
	return c.jsonCodec.Unmarshal(b, m)
}

// boundedProto is Protobuf with limits.
type boundedProto struct{ bounds }

func (boundedProto) Name() string { return "proto" }

// IsBinary and MarshalStable allow the codec in GET requests.
func (boundedProto) IsBinary() bool { return true }

func (boundedProto) MarshalStable(m any) ([]byte, error) {
	return appendProto(nil, m, proto.MarshalOptions{Deterministic: true})
}

func (boundedProto) Marshal(m any) ([]byte, error) {
	return appendProto(nil, m, proto.MarshalOptions{})
}

// MarshalAppend lets connect reuse a buffer.
func (boundedProto) MarshalAppend(dst []byte, m any) ([]byte, error) {
	return appendProto(dst, m, proto.MarshalOptions{})
}

func appendProto(dst []byte, m any, o proto.MarshalOptions) ([]byte, error) {
	msg, ok := m.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", m)
	}
	return o.MarshalAppend(dst, msg)
}

// Unmarshal refuses messages beyond the limits.
func (c boundedProto) Unmarshal(b []byte, m any) error {
	msg, ok := m.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a protobuf message", m)
	}
	if err := c.proto(msg, b); err != nil {
		return err
	}
	return proto.Unmarshal(b, msg)
}
