package snapshot_test

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tidemark/tidemark/snapshot"
)

// buckets runs a test with a directory and with each cloud's storage, through the URLs of a user.
func buckets(t *testing.T, test func(t *testing.T, open func() snapshot.Bucket)) {
	t.Helper()
	t.Run("directory", func(t *testing.T) {
		at := "file://" + t.TempDir() + "/snapshots"
		test(t, func() snapshot.Bucket { return openBucket(t, at) })
	})
	t.Run("s3", func(t *testing.T) {
		at := startS3(t) + "&path_style=true"
		test(t, func() snapshot.Bucket { return openBucket(t, at) })
	})
	t.Run("gcs", func(t *testing.T) {
		at := startGCS(t)
		test(t, func() snapshot.Bucket { return openBucket(t, at) })
	})
	t.Run("azure", func(t *testing.T) {
		at := startAzure(t)
		test(t, func() snapshot.Bucket { return openBucket(t, at) })
	})
}

// startS3 serves an empty bucket and returns its URL.
func startS3(t testing.TB) string {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("tidemark"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return "s3://tidemark/some/prefix?insecure=true&region=us-east-1&endpoint=" + u.Host
}

func openBucket(t testing.TB, at string) snapshot.Bucket {
	t.Helper()
	b, err := snapshot.OpenBucket(at)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func content(t *testing.T, b snapshot.Bucket, key string) (string, snapshot.Object) {
	t.Helper()
	r, o, err := b.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return string(data), o
}

func keys(t *testing.T, b snapshot.Bucket, prefix string) (list []string) {
	t.Helper()
	if err := b.List(t.Context(), prefix, func(o snapshot.Object) error {
		list = append(list, o.Key)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// TestBucket tests the contract of every object storage.
func TestBucket(t *testing.T) {
	buckets(t, func(t *testing.T, open func() snapshot.Bucket) {
		b := open()
		ctx := t.Context()
		put := func(key, data string) {
			if err := b.Put(ctx, key, strings.NewReader(data), int64(len(data))); err != nil {
				t.Fatal(err)
			}
		}
		if got := keys(t, b, "partition-"); len(got) != 0 {
			t.Errorf("there is %v in an empty bucket", got)
		}
		if _, _, err := b.Get(ctx, "partition-1/files/none"); !errors.Is(err, snapshot.ErrNotExist) {
			t.Errorf("reading what is not there: %v", err)
		}
		put("partition-1/files/a", "first")
		put("partition-1/files/a", "second")
		put("partition-1/files/empty", "")
		put("partition-10/files/a", "other")
		if got, o := content(t, b, "partition-1/files/a"); got != "second" || o.Size != 6 || o.Version == "" || time.Since(o.Modified) > time.Hour {
			t.Errorf("read %q, %+v", got, o)
		}
		if got := keys(t, b, "partition-1/"); !slices.Equal(got, []string{"partition-1/files/a", "partition-1/files/empty"}) {
			t.Errorf("listed %v", got)
		}
		if got := keys(t, b, "partition-1"); len(got) != 3 {
			t.Errorf("a prefix that ends within a name lists %v", got)
		}
		for range 2 {
			if err := b.Delete(ctx, "partition-1/files/a"); err != nil {
				t.Errorf("deleting: %v", err)
			}
		}
		if got := keys(t, open(), "partition-"); !slices.Equal(got, []string{"partition-1/files/empty", "partition-10/files/a"}) {
			t.Errorf("after deleting there are %v", got)
		}
	})
}

// TestBucketLarge needs more than one part at S3.
func TestBucketLarge(t *testing.T) {
	buckets(t, func(t *testing.T, open func() snapshot.Bucket) {
		b := open()
		data := bytes.Repeat([]byte("0123456789abcdef"), 17<<20/16)
		if err := b.Put(t.Context(), "partition-0/files/large", bytes.NewReader(data), int64(len(data))); err != nil {
			t.Fatal(err)
		}
		if got, o := content(t, b, "partition-0/files/large"); got != string(data) || o.Size != int64(len(data)) {
			t.Errorf("%d bytes came back of %d (%+v)", len(got), len(data), o)
		}
	})
}

func TestBucketConditional(t *testing.T) {
	buckets(t, func(t *testing.T, open func() snapshot.Bucket) {
		b := open()
		ctx := t.Context()
		const key = "partition-1/current.manifest"
		if err := b.PutIf(ctx, key, []byte("zero"), "some-version"); !errors.Is(err, snapshot.ErrConflict) {
			t.Errorf("replacing what is not there: %v", err)
		}
		if err := b.PutIf(ctx, key, []byte("one"), ""); err != nil {
			t.Fatal(err)
		}
		if err := b.PutIf(ctx, key, []byte("uno"), ""); !errors.Is(err, snapshot.ErrConflict) {
			t.Errorf("making what is there: %v", err)
		}
		_, first := content(t, b, key)
		if err := b.PutIf(ctx, key, []byte("two"), first.Version); err != nil {
			t.Fatal(err)
		}
		if err := b.PutIf(ctx, key, []byte("due"), first.Version); !errors.Is(err, snapshot.ErrConflict) {
			t.Errorf("replacing what was replaced: %v", err)
		}
		if got, _ := content(t, open(), key); got != "two" {
			t.Errorf("there is %q", got)
		}
		if got := keys(t, b, ""); !slices.Equal(got, []string{key}) {
			t.Errorf("refused writes left %v", got)
		}
	})
}

// TestBucketRace: of many conditional writes over one version exactly one succeeds.
func TestBucketRace(t *testing.T) {
	buckets(t, func(t *testing.T, open func() snapshot.Bucket) {
		b := open()
		const key = "partition-1/current.manifest"
		version := ""
		for round := range 10 {
			var won atomic.Int32
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					err := open().PutIf(t.Context(), key, []byte{byte('a' + round), byte('a' + i)}, version)
					switch {
					case err == nil:
						won.Add(1)
					case !errors.Is(err, snapshot.ErrConflict):
						t.Error(err)
					}
				})
			}
			all.Wait()
			if won.Load() != 1 {
				t.Fatalf("round %d: %d writers succeeded", round, won.Load())
			}
			_, o := content(t, b, key)
			version = o.Version
		}
	})
}

func TestBucketURL(t *testing.T) {
	for at, want := range map[string]string{
		"":                              "is no place for snapshots: write file:///dir, s3://bucket/prefix, gs://bucket/prefix or az://account/container/prefix",
		"/some/dir":                     "is no place for snapshots",
		"file://host/dir":               "does not name a directory",
		"file:relative":                 "does not name a directory",
		"s3:///prefix":                  "names no bucket",
		"s3://bucket/p?secret=hunter2":  `"secret" is not an option`,
		"s3://key:hunter2@bucket/p":     "keys come from the environment",
		"s3://b/p?insecure=maybe":       "insecure must be true or false",
		"s3://bucket/\x7fhunter2":       "cannot be read",
		"ftp://bucket/p":                "is no place for snapshots",
		"gs:///prefix":                  "names no bucket",
		"gs://key:hunter2@bucket/p":     "keys come from the environment",
		"gs://bucket/p?token=hunter2":   `"token" is not an option of a Google Cloud Storage URL`,
		"gs://bucket/p?insecure=maybe":  "insecure must be true or false",
		"gs://bucket/p?insecure=true":   "insecure is for a server that endpoint names",
		"gs://bucket/p?endpoint=a/b":    "endpoint must be HOST:PORT",
		"az://account":                  "names no account and container",
		"az:///container/p":             "names no account and container",
		"az://account/c/p?sig=hunter2":  `"sig" is not an option of an Azure Blob Storage URL`,
		"az://account/c?endpoint=":      "endpoint must be HOST:PORT",
		"s3://bucket/p?endpoint=a/b/c?": "",
	} {
		_, err := snapshot.OpenBucket(at)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", at, err)
		}
	}
}
