package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// caller posts the same request repeatedly on one connection. It does as little work as possible,
// because it shares the cores with the server; the HTTP client of the standard library would use
// three goroutines for a call.
type caller struct {
	conn    net.Conn
	request []byte
	answers *bufio.Reader
}

func dialCaller(ctx context.Context, to string, body []byte) (*caller, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	var request bytes.Buffer
	if err := req.Write(&request); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", req.URL.Host)
	if err != nil {
		return nil, err
	}
	return &caller{conn: conn, request: request.Bytes(), answers: bufio.NewReader(conn)}, nil
}

// call posts once and reads the answer to its end.
func (c *caller) call() error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the node answers %s", resp.Status)
	}
	return nil
}
