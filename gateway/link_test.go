package gateway

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// recorder is a connection whose writes are kept.
type recorder struct {
	net.Conn
	writes [][]byte
	failed error // what the next write says
}

// Write keeps b, or the half of it where it is to fail.
func (r *recorder) Write(b []byte) (int, error) {
	if r.failed != nil {
		b = b[:len(b)/2]
	}
	r.writes = append(r.writes, bytes.Clone(b))
	return len(b), r.failed
}

// SetWriteDeadline does nothing: no write waits.
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

// payloads reads whole text frames, unmasked.
func payloads(t *testing.T, b []byte) (list [][]byte) {
	t.Helper()
	for r := bytes.NewReader(b); r.Len() > 0; {
		var head [2]byte
		_, _ = io.ReadFull(r, head[:])
		length := uint64(head[1])
		switch length {
		case 126:
			var n uint16
			_ = binary.Read(r, binary.BigEndian, &n)
			length = uint64(n)
		case 127:
			_ = binary.Read(r, binary.BigEndian, &length)
		}
		payload := make([]byte, length)
		if _, err := io.ReadFull(r, payload); head[0] != 0x81 || err != nil {
			t.Fatalf("frame %d begins with %x and has %d bytes: %v", len(list), head, length, err)
		}
		list = append(list, payload)
	}
	return list
}

func newLink() (*link, *recorder) {
	r := &recorder{}
	return &link{Conn: r, timeout: time.Second, sent: func(int) {}}, r
}

// Frames of every kind of length arrive as they were, in order; small ones leave together, and no write is larger than
// what one may take a second.
func TestFramesLeaveTogether(t *testing.T) {
	l, r := newLink()
	var batch []item
	for i, n := range []int{0, 1, 125, 126, 65_525, 65_526, 65_527, 65_535, 65_536, 200_000, 3, 40_000, 40_000, 2} {
		batch = append(batch, item{body: bytes.Repeat([]byte{byte('a' + i)}, n)})
	}
	if err := l.send(batch); err != nil {
		t.Fatal(err)
	}
	got := payloads(t, bytes.Join(r.writes, nil))
	if len(got) != len(batch) {
		t.Fatalf("%d frames of %d", len(got), len(batch))
	}
	for i := range got {
		if !bytes.Equal(got[i], batch[i].body) {
			t.Errorf("frame %d: %d bytes of %d", i, len(got[i]), len(batch[i].body))
		}
	}
	for _, w := range r.writes {
		if len(w) > corkBytes || len(w) == 0 {
			t.Errorf("a write of %d bytes", len(w))
		}
	}
	if n := len(payloads(t, r.writes[0])); n != 4 {
		t.Errorf("%d frames in the first write, want the 4 small ones", n)
	}
}

// No data follow a close, and none what was sent in part.
func TestNothingFollowsAClose(t *testing.T) {
	l, r := newLink()
	if _, err := l.Write([]byte{0x89, 0}); err != nil { // a ping
		t.Fatal(err)
	}
	if err := l.send([]item{{body: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte{0x88, 2, 3, 232}); err != nil {
		t.Fatal(err)
	}
	if err := l.send([]item{{body: []byte("{}")}}); !errors.Is(err, net.ErrClosed) || len(r.writes) != 3 {
		t.Errorf("after a close: %v, %d writes", err, len(r.writes))
	}
	l, r = newLink()
	r.failed = io.ErrShortWrite
	if err := l.send([]item{{body: make([]byte, 200_000)}}); !errors.Is(err, io.ErrShortWrite) || len(r.writes) != 1 {
		t.Errorf("a write that failed: %v, %d writes", err, len(r.writes))
	}
}
