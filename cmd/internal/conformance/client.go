package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark/tidemark/internal/retry"
)

const (
	ingestService = "tidemark.ingest.v1.IngestService"
	queryService  = "tidemark.query.v1.QueryService"
)

// largestAnswer bounds the bytes of an answer. No story needs a tenth of it.
const largestAnswer = 64 << 20

// refusal is an error answer of the service.
type refusal struct {
	Method, Code, Message string
	retryAfter            time.Duration
}

func (r *refusal) Error() string { return r.Method + ": " + r.Code + ": " + r.Message }

// passing reports whether the same call may succeed later.
func (r *refusal) passing() bool { return r.Code == "unavailable" || r.Code == "resource_exhausted" }

// client calls a service.
type client struct {
	url   string
	token string
	http  *http.Client
}

// call calls a method of a service. The error is a *refusal if the service refused.
func (c *client) call(ctx context.Context, service, method string, request map[string]any) (map[string]any, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.url, "/")+"/"+service+"/"+method, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Connect-Protocol-Version", "1")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, largestAnswer))
	if err != nil {
		return nil, fmt.Errorf("%s: the answer was cut off: %w", method, err)
	}
	var out map[string]any
	wrong := decode(answer, &out)
	if res.StatusCode == http.StatusOK {
		if wrong != nil {
			return nil, fmt.Errorf("%s: the answer is not a JSON object (%w)", method, wrong)
		}
		return out, nil
	}
	code, _ := out["code"].(string)
	if wrong != nil || code == "" {
		return nil, fmt.Errorf("%s: HTTP %d without a code of the API", method, res.StatusCode)
	}
	r := &refusal{Method: method, Code: code}
	r.Message, _ = out["message"].(string)
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		r.retryAfter = time.Duration(s) * time.Second
	}
	return nil, r
}

// pause is the wait between two tries of a call or a query.
const pause = 50 * time.Millisecond

// tried calls a method, and repeats the call while the service refuses it temporarily, until ctx
// ends.
func (c *client) tried(ctx context.Context, service, method string, request map[string]any) (map[string]any, error) {
	for {
		answer, err := c.call(ctx, service, method, request)
		var no *refusal
		if !errors.As(err, &no) || !no.passing() {
			return answer, err
		}
		if !retry.Sleep(ctx, max(no.retryAfter, pause)) {
			return nil, err
		}
	}
}

// decode decodes JSON and keeps numbers as they are written.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
