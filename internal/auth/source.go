package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// sourceOf returns the URL of a source, or nil if its name is that of a file. An address over plain
// http must be on this machine.
func sourceOf(name string) (*url.URL, error) {
	u, err := url.Parse(name)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, nil //nolint:nilnil,nilerr // a file, whose name need not be a URL
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return nil, fmt.Errorf("%s: over plain http, anyone on the network path can replace the answer: use https", u.Redacted())
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// fetch reads the content of an address, up to a maximal size.
func fetch(ctx context.Context, u *url.URL, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Timeout: fetchTimeout,
		// A redirect could lead anywhere.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects: name the address that it redirects to")
		},
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // its content was read
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d", res.StatusCode)
	case int64(len(body)) > limit:
		return nil, fmt.Errorf("more than %d bytes", limit)
	}
	return body, nil
}
