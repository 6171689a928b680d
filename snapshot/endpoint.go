package snapshot

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
)

// endpoint is the server of a bucket of Google or Azure, if it is not the cloud's own.
type endpoint struct {
	host     string // with the port; empty: the cloud's own
	insecure bool   // HTTP instead of HTTPS
}

func (e endpoint) scheme() string {
	if e.insecure {
		return "http"
	}
	return "https"
}

// readEndpoint reads the options endpoint and insecure of the URL of at.
func readEndpoint(at, kind string, query url.Values) (e endpoint, err error) {
	for name, values := range query {
		v := values[len(values)-1]
		switch name {
		case "endpoint":
			if e.host = v; v == "" || strings.ContainsAny(v, "/?#@") {
				return e, fmt.Errorf("snapshots: %s: endpoint must be HOST:PORT", at)
			}
		case "insecure":
			if e.insecure, err = strconv.ParseBool(v); err != nil {
				return e, fmt.Errorf("snapshots: %s: insecure must be true or false", at)
			}
		default:
			return e, fmt.Errorf("snapshots: %s: %q is not an option of %s URL: the options are endpoint and insecure; keys come from the environment",
				at, name, kind)
		}
	}
	if e.insecure && e.host == "" {
		return e, fmt.Errorf("snapshots: %s: insecure is for a server that endpoint names", at)
	}
	return e, nil
}

// prefixOf is the path of a URL as the prefix of keys: empty, or with a slash at its end.
func prefixOf(path string) string {
	if path = strings.Trim(path, "/"); path == "" {
		return ""
	}
	return path + "/"
}

// notReplaced returns the error of a failed PutIf. If an object with that version was required, a
// missing one is a conflict.
func notReplaced(at Bucket, key, version string, err error) error {
	if version != "" && errors.Is(err, ErrNotExist) {
		return fmt.Errorf("snapshots: writing %s/%s: %w", at, key, ErrConflict)
	}
	return err
}

// exactReader reads left bytes of r, and fails if r ends before.
type exactReader struct {
	r    io.Reader
	left int64
}

func (e *exactReader) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	if e.left -= int64(n); err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
