package frames

import (
	"sync"

	"github.com/tidemark/tidemark/internal/guard"
)

// Frame is the text of one frame, shared by all devices that get it. The first connection to write
// it encodes it. So no lock is held during encoding, and a frame that a newer value replaces in all
// queues is never encoded.
type Frame struct {
	Size   int    // about how many bytes it has: what a queue counts
	Sent   func() // is called each time that a device has taken the frame; nil: nothing is
	once   sync.Once
	encode func() []byte
	body   []byte
	bug    error // a panic of encode
}

// Ready returns a frame of encoded text.
func Ready(body []byte) *Frame { return &Frame{Size: len(body), encode: func() []byte { return body }} }

// Lazy returns a frame of about size bytes. encode returns its text when the frame is first
// written; the data that encode reads must not change.
func Lazy(size int, encode func() []byte) *Frame { return &Frame{Size: size, encode: encode} }

// Bytes returns the text, which is shared and must not be changed. If encode panics, Bytes panics
// for each device that should get the frame: none may continue as if there had been nothing to
// send.
func (f *Frame) Bytes() []byte {
	f.once.Do(func() {
		f.bug = guard.Do("the encoding of a frame", func() { f.body = f.encode() })
		f.encode = nil
	})
	if f.bug != nil {
		panic(f.bug)
	}
	return f.body
}
