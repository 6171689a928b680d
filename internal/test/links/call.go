package main

import (
	"context"
	"io"
	"net/http"
)

// outcome is what became of a call.
type outcome string

const (
	alive     outcome = "alive"
	dead      outcome = "dead"        // the site says that it has no such page
	unclear   outcome = "unclear"     // the site answers with another error: look by hand
	unreached outcome = "not reached" // there is no answer: the site or this network
)

// call requests a page as a browser does, and follows redirects. Some sites refuse HEAD, so it is a
// GET whose body is not read.
func call(ctx context.Context, client *http.Client, url string) (became outcome, why string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return dead, err.Error()
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (compatible; tidemark-links)")
	res, err := client.Do(req)
	if err != nil {
		return unreached, err.Error()
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 1) // the status is all that counts
	switch {
	case res.StatusCode < 300:
		return alive, res.Status
	case res.StatusCode == http.StatusNotFound, res.StatusCode == http.StatusGone:
		return dead, res.Status
	}
	return unclear, res.Status
}
