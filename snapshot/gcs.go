package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
)

// gcsBucket is a prefix of a bucket of Google Cloud Storage. An object's version is its generation.
type gcsBucket struct {
	objects *storage.ObjectsService
	bucket  string
	prefix  string // empty, or ends in a slash
	at      string
}

// openGCS reads gs://bucket/prefix?endpoint=host:port&insecure=true. Credentials are Google's
// application default credentials: the file that GOOGLE_APPLICATION_CREDENTIALS names, those of
// gcloud, or the machine's service account. With insecure there are none, because a token must not
// travel in plain text: emulators need none.
func openGCS(u *url.URL) (Bucket, error) {
	if u.Host == "" {
		return nil, errors.New("snapshots: the URL names no bucket: write gs://bucket/prefix")
	}
	g := &gcsBucket{bucket: u.Host, at: "gs://" + u.Host + strings.TrimSuffix(u.Path, "/"), prefix: prefixOf(u.Path)}
	e, err := readEndpoint(g.at, "a Google Cloud Storage", u.Query())
	if err != nil {
		return nil, err
	}
	options := []option.ClientOption{option.WithScopes(storage.DevstorageReadWriteScope)}
	if e.host != "" {
		options = append(options, option.WithEndpoint(e.scheme()+"://"+e.host+"/storage/v1/"))
	}
	if e.insecure {
		options = append(options, option.WithoutAuthentication())
	}
	// The context outlives this call: the client fetches its tokens with it.
	service, err := storage.NewService(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("snapshots: %s: %w", g.at, err)
	}
	g.objects = service.Objects
	return g, nil
}

func (g *gcsBucket) String() string { return g.at }

// fail wraps an error of the client.
func (g *gcsBucket) fail(what, key string, err error) error {
	var answer *googleapi.Error
	if errors.As(err, &answer) {
		switch said := answer.Message + answer.Body; {
		case answer.Code == http.StatusPreconditionFailed:
			return fmt.Errorf("snapshots: %s %s/%s: %w", what, g.at, key, ErrConflict)
		case answer.Code == http.StatusNotFound && strings.Contains(said, "bucket does not exist"):
			return fmt.Errorf("snapshots: %s %s/%s: there is no bucket %s: %w", what, g.at, key, g.bucket, err)
		case answer.Code == http.StatusNotFound:
			return fmt.Errorf("snapshots: %s %s/%s: %w", what, g.at, key, ErrNotExist)
		}
	}
	return fmt.Errorf("snapshots: %s %s/%s: %w", what, g.at, key, err)
}

func (g *gcsBucket) Put(ctx context.Context, key string, r io.ReadSeeker, size int64) error {
	_, err := g.insert(key, &exactReader{r, size}).Context(ctx).Do()
	if err != nil {
		return g.fail("writing", key, err)
	}
	return nil
}

// insert begins an upload. What is larger than a chunk of 16 MiB is sent in several requests.
func (g *gcsBucket) insert(key string, r io.Reader) *storage.ObjectsInsertCall {
	return g.objects.Insert(g.bucket, &storage.Object{Name: g.prefix + key}).Media(r, googleapi.ContentType("application/octet-stream"))
}

func (g *gcsBucket) PutIf(ctx context.Context, key string, data []byte, version string) error {
	var generation int64 // 0: there must be no object
	if version != "" {
		var err error
		if generation, err = strconv.ParseInt(version, 10, 64); err != nil || generation == 0 {
			return fmt.Errorf("snapshots: writing %s/%s: %q is not a generation: %w", g.at, key, version, ErrConflict)
		}
	}
	_, err := g.insert(key, bytes.NewReader(data)).IfGenerationMatch(generation).Context(ctx).Do()
	if err == nil {
		return nil
	}
	return notReplaced(g, key, version, g.fail("writing", key, err))
}

func (g *gcsBucket) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	answer, err := g.objects.Get(g.bucket, g.prefix+key).Context(ctx).Download()
	if err != nil {
		return nil, Object{}, g.fail("reading", key, err)
	}
	o := Object{Key: key, Size: answer.ContentLength, Version: answer.Header.Get("X-Goog-Generation")}
	if o.Modified, err = http.ParseTime(answer.Header.Get("Last-Modified")); err != nil || o.Version == "" || o.Size < 0 {
		return nil, Object{}, errors.Join(fmt.Errorf("snapshots: reading %s/%s: the answer lacks Last-Modified, Content-Length or X-Goog-Generation", g.at, key),
			answer.Body.Close())
	}
	return answer.Body, o, nil
}

func (g *gcsBucket) List(ctx context.Context, prefix string, fn func(Object) error) error {
	var stop error // of fn
	err := g.objects.List(g.bucket).Prefix(g.prefix+prefix).Fields("nextPageToken", "items(name,size,updated,generation)").
		Pages(ctx, func(page *storage.Objects) error {
			for _, i := range page.Items {
				modified, err := time.Parse(time.RFC3339, i.Updated)
				if err != nil {
					return err
				}
				o := Object{Key: strings.TrimPrefix(i.Name, g.prefix), Size: int64(i.Size), Modified: modified, //nolint:gosec // an object's size
					Version: strconv.FormatInt(i.Generation, 10)}
				if stop = fn(o); stop != nil {
					return stop
				}
			}
			return nil
		})
	if err == nil || stop != nil {
		return stop
	}
	return g.fail("listing", prefix, err)
}

func (g *gcsBucket) Delete(ctx context.Context, key string) error {
	if err := g.objects.Delete(g.bucket, g.prefix+key).Context(ctx).Do(); err != nil {
		if err = g.fail("deleting", key, err); !errors.Is(err, ErrNotExist) {
			return err
		}
	}
	return nil
}
