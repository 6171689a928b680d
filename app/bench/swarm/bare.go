package swarm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// bareSocket is a client at minimal cost: it upgrades its connection by hand and reads only the
// beginning of each frame.
type bareSocket struct {
	net.Conn
	r *bufio.Reader
}

// The kinds of frames that a swarm distinguishes.
const (
	frameOther = iota
	frameInbox
	frameMessage
)

// bareBuffer holds the beginning of a frame up to the end of its message_id.
const bareBuffer = 2048

// dialBare connects a user from an address of this machine, nil for any. Its error is a
// refusedError if the gateway asks the client to come back.
func dialBare(ctx context.Context, addr, user string, from net.IP) (*bareSocket, error) {
	var d net.Dialer
	if from != nil {
		d.LocalAddr = &net.TCPAddr{IP: from}
	}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	b := &bareSocket{c, bufio.NewReaderSize(c, bareBuffer)}
	if err := b.upgrade(addr, user); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return b, nil
}

func (b *bareSocket) upgrade(addr, user string) error {
	_, err := fmt.Fprintf(b, "GET /v1/socket?user_id=%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", user, addr)
	if err != nil {
		return err
	}
	res, err := http.ReadResponse(b.r, nil) //nolint:bodyclose // the body of an upgrade is the connection, which the caller closes
	if err != nil {
		return err
	}
	switch res.StatusCode {
	case http.StatusSwitchingProtocols:
		return nil
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil {
			return fmt.Errorf("handshake: %s without a time to come back: %w", res.Status, err)
		}
		return refusedError{time.Duration(seconds) * time.Second}
	}
	return fmt.Errorf("handshake: %s", res.Status)
}

// next reads a frame and counts it. It answers pings. A frame that waits in the kernel counts as
// received when next reads it.
func (b *bareSocket) next(t *tally) (kind int, err error) {
	head, err := b.r.Peek(2)
	if err != nil {
		return 0, err
	}
	opcode, size, length := head[0]&0xf, 2, uint64(head[1]&0x7f)
	switch length {
	case 126:
		size = 4
	case 127:
		size = 10
	}
	if head, err = b.r.Peek(size); err != nil {
		return 0, err
	}
	switch size {
	case 4:
		length = uint64(binary.BigEndian.Uint16(head[2:]))
	case 10:
		length = binary.BigEndian.Uint64(head[2:])
	}
	if _, err := b.r.Discard(size); err != nil {
		return 0, err
	}
	begin, err := b.r.Peek(int(min(length, bareBuffer/2)))
	if err != nil {
		return 0, err
	}
	const text, closing, ping = 1, 8, 9
	switch opcode {
	case text:
		kind = b.count(begin, t)
	case ping:
		err = b.pong(begin)
	case closing:
		err = closed(begin)
	}
	if err == nil {
		_, err = b.r.Discard(int(length))
	}
	t.bytes.Add(int64(length) + int64(size))
	return kind, err
}

func (b *bareSocket) count(begin []byte, t *tally) int {
	t.frames.Add(1)
	switch {
	case bytes.HasPrefix(begin, []byte(`{"type":"message.new"`)):
		t.messages.Add(1)
		if _, after, ok := bytes.Cut(begin, []byte(`"message_id":"t`)); ok {
			digits, _, _ := bytes.Cut(after, []byte("-"))
			if at, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
				t.latency.Add(time.Duration(time.Now().UnixNano() - at))
			}
		}
		return frameMessage
	case bytes.HasPrefix(begin, []byte(`{"type":"inbox"`)):
		return frameInbox
	}
	return frameOther
}

// pong answers a ping. Its mask is zero, which the protocol allows.
func (b *bareSocket) pong(payload []byte) error {
	const fin, pong, masked = 0x80, 10, 0x80
	frame := append([]byte{fin | pong, masked | byte(len(payload)), 0, 0, 0, 0}, payload...)
	_, err := b.Write(frame)
	return err
}

// closed returns the error that a close frame stands for.
func closed(payload []byte) error {
	code := 1005
	if len(payload) >= 2 {
		code = int(binary.BigEndian.Uint16(payload))
	}
	const restart, tryAgain, rate = 1012, 1013, 4429
	switch code {
	case restart, tryAgain, rate:
		return refusedError{time.Second}
	}
	return fmt.Errorf("closed with %d %q", code, payload[min(2, len(payload)):])
}
