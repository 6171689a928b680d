package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"
)

// Errors of a Bucket.
var (
	// ErrNotExist means that there is no object with that key.
	ErrNotExist = errors.New("no such object")
	// ErrConflict means that a conditional write found an object other than the one to replace.
	ErrConflict = errors.New("another writer has changed it in the meantime")
)

// Object describes an object of a bucket.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time
	// Version names the content for a conditional write; never empty.
	Version string
}

// Bucket is object storage below one prefix. Keys are slash-separated and relative to it. After a
// successful write, every later call of any process sees it, and readers see either a whole object
// or none.
type Bucket interface {
	// Put writes size bytes from r and replaces any object with that key.
	Put(ctx context.Context, key string, r io.ReadSeeker, size int64) error
	// PutIf writes data only if the object still has the given version; an empty version means that
	// there must be no object. Otherwise it returns ErrConflict. After any other error the object
	// may or may not have been written.
	PutIf(ctx context.Context, key string, data []byte, version string) error
	// Get opens an object; ErrNotExist if there is none.
	Get(ctx context.Context, key string) (io.ReadCloser, Object, error)
	// List calls fn for each object whose key begins with prefix, in no particular order.
	List(ctx context.Context, prefix string, fn func(Object) error) error
	// Delete removes an object. A missing object is not an error.
	Delete(ctx context.Context, key string) error
	// String names the place without secrets.
	String() string
}

// forms are the URLs of buckets.
const forms = "file:///dir, s3://bucket/prefix, gs://bucket/prefix or az://account/container/prefix"

// OpenBucket opens a bucket by its URL, which has one of the forms. For S3 the query may set
// endpoint, region, path_style and insecure; for Google and Azure endpoint and insecure. Keys come
// from the environment or from the machine's role, never from the URL (docs/deploy.md).
func OpenBucket(rawURL string) (Bucket, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The error of url.Parse quotes the URL, which may contain a secret.
		return nil, errors.New("snapshots: the URL cannot be read: write " + forms)
	}
	if u.User != nil {
		return nil, fmt.Errorf("snapshots: %s://%s has a user or password in it: keys come from the environment", u.Scheme, u.Host)
	}
	switch u.Scheme {
	case "file":
		return openDir(u)
	case "s3":
		return openS3(u)
	case "gs":
		return openGCS(u)
	case "az":
		return openAzure(u)
	}
	return nil, fmt.Errorf("snapshots: %q is no place for snapshots: write %s", rawURL, forms)
}
