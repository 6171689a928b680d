package bench

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
	"syscall"
	"time"
)

// bareSocket is a client that costs next to nothing: a connection that was upgraded by hand, of whose frames only the
// beginning is looked at.
type bareSocket struct {
	net.Conn
	r *bufio.Reader
}

// Kinds of frames, as far as they are told apart.
const (
	frameOther = iota
	frameInbox
	frameMessage
)

// bareBuffer holds the beginning of a frame up to the end of its message_id.
const bareBuffer = 2048

// dialBare connects a user from an address of this machine, nil for any. Its error is a laterError if he is to come back.
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
		return laterError{time.Duration(seconds) * time.Second}
	}
	return fmt.Errorf("handshake: %s", res.Status)
}

// next reads a frame and counts it. It answers pings. What was written since is in the kernel, so a frame's time is that
// at which it could be read.
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
				t.latency.add(time.Duration(time.Now().UnixNano() - at))
			}
		}
		return frameMessage
	case bytes.HasPrefix(begin, []byte(`{"type":"inbox"`)):
		return frameInbox
	}
	return frameOther
}

// pong answers a ping, masked with zeros as a client may.
func (b *bareSocket) pong(payload []byte) error {
	const fin, pong, masked = 0x80, 10, 0x80
	frame := append([]byte{fin | pong, masked | byte(len(payload)), 0, 0, 0, 0}, payload...)
	_, err := b.Write(frame)
	return err
}

// closed is the error that a close frame says.
func closed(payload []byte) error {
	code := 1005
	if len(payload) >= 2 {
		code = int(binary.BigEndian.Uint16(payload))
	}
	const restart, tryAgain, rate = 1012, 1013, 4429
	switch code {
	case restart, tryAgain, rate:
		return laterError{time.Second}
	}
	return fmt.Errorf("closed with %d %q", code, payload[min(2, len(payload)):])
}

// needFiles lets this process have n open files.
func needFiles(n uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("the number of open files: %w", err)
	}
	if l.Cur >= n {
		return nil
	}
	l.Cur, l.Max = n, max(l.Max, n) // beyond the hard limit only root may
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("%d open files are needed (%w): allow them with `ulimit -n %d`", n, err, n)
	}
	return nil
}
