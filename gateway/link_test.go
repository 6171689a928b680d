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

// A client that takes nothing is written to without waiting as far as that goes; the rest follows when it takes again,
// and a frame of control in the meantime comes between two frames, never into one.
func TestTheRestFollows(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := server.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	l := &link{Conn: server, raw: raw, timeout: time.Minute, sent: func(int) {}}
	var want [][]byte
	var rest func() error
	for i := 0; rest == nil; i++ {
		batch := []item{{body: bytes.Repeat([]byte{byte(i)}, 60_000)}, {body: []byte{byte(i)}}}
		want = append(want, batch[0].body, batch[1].body)
		if rest, err = l.trySend(batch); err != nil {
			t.Fatal(err)
		}
	}
	if other, err := l.trySend([]item{{body: []byte("later")}}); other == nil || err != nil {
		t.Fatalf("a second batch was sent beside the first: %v", err)
	}
	done := make(chan error, 3)
	go func() { done <- rest() }()
	go func() { _, err := l.Write([]byte{0x89, 0}); done <- err }() // a ping
	var got []byte
	go func() {
		var err error
		got, err = io.ReadAll(client)
		done <- err
	}()
	for range 2 { // the rest and the ping, which the reader lets through
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if rest, err := l.trySend([]item{{body: []byte("last")}}); rest != nil && rest() != nil || err != nil {
		t.Fatal(err)
	}
	server.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	list := payloads(t, bytes.Replace(got, []byte{0x89, 0}, nil, 1))
	if len(list) != len(want)+1 || string(list[len(want)]) != "last" {
		t.Fatalf("%d frames of %d", len(list), len(want)+1)
	}
	for i := range want {
		if !bytes.Equal(list[i], want[i]) {
			t.Errorf("frame %d: %d bytes of %d", i, len(list[i]), len(want[i]))
		}
	}
}
