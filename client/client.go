package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config configures a Client. URL must be set.
type Config struct {
	URL   string       // of any node with the role query, such as http://127.0.0.1:8080
	Token TokenSource  // called before each call; nil: no token is sent
	HTTP  *http.Client // nil: http.DefaultClient
	// Tries bounds the attempts of a read that the node refuses temporarily; 5 by default. The
	// client waits between two attempts: 50 ms at first, doubling, drawn from the upper half, or as
	// long as the node states.
	Tries int
	// Timeout bounds each attempt; 15 s by default. A watch is given up if nothing comes for a
	// minute.
	Timeout time.Duration
}

// Client calls one address. Any number of goroutines may use it.
type Client struct {
	cfg   Config
	quiet time.Duration // of a stream; tests shorten it
}

// New returns a client. The client connects at its first call.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("client: %q is not the URL of a node: write it as http://127.0.0.1:8080", c.URL)
	}
	c.URL = strings.TrimRight(c.URL, "/")
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	if c.Tries <= 0 {
		c.Tries = 5
	}
	if c.Timeout <= 0 {
		c.Timeout = 15 * time.Second
	}
	return &Client{cfg: c, quiet: streamQuiet}, nil
}

const (
	queryService  = "/tidemark.query.v1.QueryService/"
	ingestService = "/tidemark.ingest.v1.IngestService/"

	maxAnswer = 64 << 20
)

// read makes a call, and retries it while the node refuses temporarily and ctx lasts.
func (c *Client) read(ctx context.Context, method string, request, answer any) error {
	wait := 50 * time.Millisecond
	for try := 1; ; try++ {
		err := c.call(ctx, queryService+method, request, answer)
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Temporary() || try >= c.cfg.Tries || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(wait/2+rand.N(wait/2), e.RetryAfter)): //nolint:gosec // it spreads callers, and is no secret
		}
		wait *= 2
	}
}

// call makes one attempt.
func (c *Client) call(ctx context.Context, path string, request, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	res, err := c.send(ctx, path, "application/json", body)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return c.broken(ctx, path, err)
	}
	if res.StatusCode != http.StatusOK {
		return errorOf(res.StatusCode, res.Header, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return &Error{Code: Unknown, Message: fmt.Sprintf("the answer of %s is not that of a node of Tidemark: %v", c.cfg.URL, err)}
	}
	return nil
}

func (c *Client) send(ctx context.Context, path, contentType string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Connect-Protocol-Version", "1")
	token, err := c.cfg.Token.token(ctx)
	if err != nil {
		return nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.cfg.HTTP.Do(r)
	if err != nil {
		return nil, c.broken(ctx, path, err)
	}
	return res, nil
}

// broken returns the error of a call without an answer.
func (c *Client) broken(ctx context.Context, path string, err error) error {
	method := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Timeout, Message: fmt.Sprintf("%s: %s has not answered in time", method, c.cfg.URL), err: err}
	}
	return &Error{Code: Unavailable, Message: fmt.Sprintf("%s: %v", method, err), err: err}
}
