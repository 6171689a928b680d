package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/tidemark/tidemark/app/travel"
	"github.com/tidemark/tidemark/internal/obs"
)

// Client calls a node.
type Client struct {
	URL   string       // of the node, without a path
	Token string       // of scope service, if the node requires one; else empty
	HTTP  *http.Client // nil: http.DefaultClient
}

// About asks the node for its description.
func (c *Client) About(ctx context.Context) (*About, error) {
	about := &About{}
	return about, c.call(ctx, http.MethodGet, PathPartitions, nil, about)
}

// Checkpoint has the node copy the store of a partition to dir below its data directory
// (CheckpointRequest.Dir).
func (c *Client) Checkpoint(ctx context.Context, partition int32, dir string) error {
	return c.call(ctx, http.MethodPost, PathCheckpoint, CheckpointRequest{partition, dir}, &CheckpointAnswer{})
}

// Snapshots makes the node take snapshots, and calls fn with each event until all partitions are
// done. An answer that is cut off before is an error.
func (c *Client) Snapshots(ctx context.Context, q SnapshotsRequest, fn func(Event) error) error {
	body, err := c.send(ctx, http.MethodPost, PathSnapshots, q)
	if err != nil {
		return err
	}
	defer body.Close()
	for d := json.NewDecoder(body); ; {
		var e Event
		if err := d.Decode(&e); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("the answer of %s ended early (%w): the node is stopping, or the connection was cut; the snapshots "+
				"reported so far are complete, the current one is not", c.URL, err)
		}
		if e.End {
			return nil
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// LogLevel asks for the node's log level.
func (c *Client) LogLevel(ctx context.Context) (obs.LevelState, error) {
	var s obs.LevelState
	return s, c.call(ctx, http.MethodGet, PathLogLevel, nil, &s)
}

// SetLogLevel changes the node's log level.
func (c *Client) SetLogLevel(ctx context.Context, q LogLevelRequest) (obs.LevelState, error) {
	var s obs.LevelState
	return s, c.call(ctx, http.MethodPut, PathLogLevel, q, &s)
}

// Diff asks what changed for a user between two moments.
func (c *Client) Diff(ctx context.Context, q travel.Question) (*travel.Diff, error) {
	d := &travel.Diff{}
	return d, c.call(ctx, http.MethodPost, PathDiff, q, d)
}

func (c *Client) call(ctx context.Context, method, path string, q, answer any) error {
	body, err := c.send(ctx, method, path, q)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(answer); err != nil {
		return fmt.Errorf("the answer of %s%s cannot be read: %w", c.URL, path, err)
	}
	return nil
}

// send calls, and returns the body of an answer without an error.
func (c *Client) send(ctx context.Context, method, path string, q any) (io.ReadCloser, error) {
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, unreachable(c.URL, err)
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	defer res.Body.Close()
	var f failure
	if err := json.NewDecoder(io.LimitReader(res.Body, maxBody)).Decode(&f); err != nil || f.Message == "" {
		return nil, fmt.Errorf("%s%s answers %s: is it a node, and of this version?", c.URL, path, res.Status)
	}
	if res.StatusCode == http.StatusNotFound && path == PathLogLevel {
		return nil, fmt.Errorf("%s has no log level to change: is it of this version, and is this its --admin-listen address, if it has one?", c.URL)
	}
	if res.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%s has no stores: name a node with the role processor (%s)", c.URL, f.Message)
	}
	return nil, fmt.Errorf("%s says: %s", c.URL, f.Message)
}

// unreachable explains a call without an answer: either nothing listens there, or the node did not
// answer.
func unreachable(url string, err error) error {
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return fmt.Errorf("no node answers at %s (%w): is it running, and is this its --listen address?", url, err)
	}
	return fmt.Errorf("%s closed the connection without an answer (%w): the node was stopped, or this is not a node", url, err)
}
