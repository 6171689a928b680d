package wire

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	dto "github.com/prometheus/client_model/go"

	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// closeOf reads to the end, and returns the code and the reason with which the connection closed.
func closeOf(t *testing.T, client *websocket.Conn) (code websocket.StatusCode, reason string) {
	t.Helper()
	for {
		if _, _, err := client.Read(soon(t)); err != nil {
			var e websocket.CloseError
			errors.As(err, &e)
			return websocket.CloseStatus(err), e.Reason
		}
	}
}

// A connection whose queue exceeds the limit is closed, and its queue stays empty: both queued
// frames and later ones are dropped.
func TestAConnectionThatIsTooSlowIsClosed(t *testing.T) {
	s := settings()
	s.QueueBytes = 1000
	c := Unconnected(t.Context(), s, "device")
	for range 3 {
		c.Send(Item{Frame: frames.Ready(make([]byte, 300-overhead))})
	}
	if n := len(c.Waiting()); n != 3 || c.Closing() != 0 {
		t.Fatalf("%d frames wait, closing with %d; want 3, open", n, c.Closing())
	}
	c.Send(Item{Frame: frames.Ready(make([]byte, 300-overhead))})
	c.Send(Item{Frame: frames.Ready([]byte("late"))})
	var slow dto.Metric
	if err := s.Slow.Write(&slow); err != nil {
		t.Fatal(err)
	}
	if n := len(c.Waiting()); n != 0 || c.Closing() != CloseSlow || slow.Counter.GetValue() != 1 {
		t.Errorf("%d frames wait, closing with %d, %v were slow; want none, %d, 1", n, c.Closing(), slow.Counter.GetValue(), CloseSlow)
	}
}

// Shut drops queued frames. The client gets the first code and reason, not later ones.
func TestTheFirstReasonToShutStands(t *testing.T) {
	s := settings()
	var codes []websocket.StatusCode
	s.Closed = func(code websocket.StatusCode) { codes = append(codes, code) }
	c, client := pair(t, s)
	c.Send(Item{Frame: frames.Ready([]byte("dropped"))})
	c.Shut(4429, "the first")
	c.Shut(4408, "the second")
	if code, reason := closeOf(t, client); code != 4429 || reason != "the first" {
		t.Errorf("closed with %d, %q", code, reason)
	}
	testkit.Await(t, "the connection ends", func() bool { return c.Context().Err() != nil })
	if !slices.Equal(codes, []websocket.StatusCode{4429}) {
		t.Errorf("counted are %v", codes)
	}
}

// Frames that a client has taken are handed back, each once and in order, with the caller's
// pointers.
func TestTakenFramesAreHandedBack(t *testing.T) {
	s := settings()
	got := make(chan string, 10)
	s.Taken = func(instance string, batch []Item) {
		for _, it := range batch {
			got <- instance + " " + *it.Message.(*string)
		}
	}
	c, client := pair(t, s)
	c.Instance = "device"
	for _, id := range []string{"m1", "m2", "m3"} {
		c.Send(Item{Frame: frames.Ready([]byte(id)), Message: &id})
	}
	c.Kick()
	for _, id := range []string{"m1", "m2", "m3"} {
		expect(t, client, []byte(id))
		if g := <-got; g != "device "+id {
			t.Errorf("%q was taken, want %q of the device", g, id)
		}
	}
}

// A fresh inbox drops values and a waiting inbox. Other frames are returned in order.
func TestDropValues(t *testing.T) {
	c := Unconnected(t.Context(), settings(), "device")
	for _, it := range []Item{
		{Frame: frames.Ready([]byte("message"))}, {Key: "u", Frame: frames.Ready([]byte("old value"))}, {Inbox: true, Frame: frames.Ready([]byte("old inbox"))},
		{Key: "u", Frame: frames.Ready([]byte("value"))}, {Frame: frames.Ready([]byte("ack"))},
	} {
		c.Send(it)
	}
	var got []string
	for _, it := range c.DropValues() {
		got = append(got, string(it.Bytes()))
	}
	if !slices.Equal(got, []string{"message", "ack"}) || len(c.Waiting()) != 0 {
		t.Errorf("%q are to follow, and %d frames still wait", got, len(c.Waiting()))
	}
}

// Read passes text on and closes for anything else.
func TestFramesAreText(t *testing.T) {
	c, client := pair(t, settings())
	got, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- c.Read(func(b []byte) { got <- string(b) }) }()
	if err := client.Write(soon(t), websocket.MessageText, []byte("hello")); err != nil || <-got != "hello" {
		t.Fatalf("the text did not come: %v", err)
	}
	if err := client.Write(soon(t), websocket.MessageBinary, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if code, _ := closeOf(t, client); code != websocket.StatusUnsupportedData {
		t.Errorf("closed with %d", code)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// First returns the first frame; a silent client is closed with the code for that.
func TestFirst(t *testing.T) {
	c, client := pair(t, settings())
	if err := client.Write(soon(t), websocket.MessageText, []byte("token")); err != nil {
		t.Fatal(err)
	}
	body, text, err := c.First(time.Minute, 4401, "no token came")
	if err != nil || !text || !bytes.Equal(body, []byte("token")) {
		t.Errorf("%q, text %v, %v", body, text, err)
	}
	c, client = pair(t, settings())
	go func() { _, _, _ = c.First(10*time.Millisecond, 4401, "no token came") }()
	if code, reason := closeOf(t, client); code != 4401 || reason != "no token came" {
		t.Errorf("closed with %d, %q", code, reason)
	}
}

// A frame that is larger than FrameBytes ends the connection before it is read.
func TestAFrameIsBounded(t *testing.T) {
	c, client := pair(t, settings())
	ended := make(chan error, 1)
	go func() { ended <- c.Read(func([]byte) { t.Error("the frame was passed on") }) }()
	_ = client.Write(soon(t), websocket.MessageText, []byte(strings.Repeat(" ", 64<<10+1))) // it may be closed already
	if code, _ := closeOf(t, client); code != websocket.StatusMessageTooBig {
		t.Errorf("closed with %d", code)
	}
	if err := <-ended; err == nil {
		t.Error("Read returned no error")
	}
}
