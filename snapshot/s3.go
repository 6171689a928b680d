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

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// s3Bucket is a prefix of a bucket of S3 or a compatible store. The store must be strongly
// consistent for reads and lists, and must refuse a conditional PUT whose condition does not hold.
// AWS, MinIO, Ceph, Cloudflare R2 and others do both. CheckConditional tests it.
type s3Bucket struct {
	client *minio.Client
	bucket string
	prefix string // empty, or ends in a slash
	at     string
}

// openS3 reads s3://bucket/prefix?endpoint=host:port&region=…&path_style=true&insecure=true.
// Credentials come from AWS_ACCESS_KEY_ID and so on, the shared credentials file, or the machine's
// role, in this order.
func openS3(u *url.URL) (Bucket, error) {
	if u.Host == "" {
		return nil, errors.New("snapshots: the URL names no bucket: write s3://bucket/prefix")
	}
	s := &s3Bucket{bucket: u.Host, at: "s3://" + u.Host + strings.TrimSuffix(u.Path, "/"), prefix: prefixOf(u.Path)}
	endpoint, o := "s3.amazonaws.com", minio.Options{Secure: true}
	for name, values := range u.Query() {
		v := values[len(values)-1]
		var err error
		switch name {
		case "endpoint":
			endpoint = v
		case "region":
			o.Region = v
		case "insecure":
			var insecure bool
			insecure, err = strconv.ParseBool(v)
			o.Secure = !insecure
		case "path_style":
			var path bool
			if path, err = strconv.ParseBool(v); path {
				o.BucketLookup = minio.BucketLookupPath
			}
		default:
			return nil, fmt.Errorf("snapshots: %s: %q is not an option of an S3 URL: the options are endpoint, region, path_style and "+
				"insecure; keys come from the environment", s.at, name)
		}
		if err != nil {
			return nil, fmt.Errorf("snapshots: %s: %s must be true or false", s.at, name)
		}
	}
	o.Creds = credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
	})
	client, err := minio.New(endpoint, &o)
	if err != nil {
		return nil, fmt.Errorf("snapshots: %s: %w", s.at, err)
	}
	s.client = client
	return s, nil
}

func (s *s3Bucket) String() string { return s.at }

// fail wraps an error of the client. It may name the bucket's region and host, but never a key.
func (s *s3Bucket) fail(what, key string, err error) error {
	switch r := minio.ToErrorResponse(err); {
	case r.StatusCode == http.StatusPreconditionFailed, r.StatusCode == http.StatusConflict, r.Code == "ConditionalRequestConflict":
		return fmt.Errorf("snapshots: %s %s/%s: %w", what, s.at, key, ErrConflict)
	case r.Code == minio.NoSuchBucket:
		return fmt.Errorf("snapshots: %s %s/%s: there is no bucket %s: %w", what, s.at, key, s.bucket, err)
	case r.Code == minio.NoSuchKey, r.StatusCode == http.StatusNotFound:
		return fmt.Errorf("snapshots: %s %s/%s: %w", what, s.at, key, ErrNotExist)
	}
	return fmt.Errorf("snapshots: %s %s/%s: %w", what, s.at, key, err)
}

func (s *s3Bucket) Put(ctx context.Context, key string, r io.ReadSeeker, size int64) error {
	if _, err := s.client.PutObject(ctx, s.bucket, s.prefix+key, r, size, minio.PutObjectOptions{NumThreads: 2, DisableContentSha256: true}); err != nil {
		return s.fail("writing", key, err)
	}
	return nil
}

func (s *s3Bucket) PutIf(ctx context.Context, key string, data []byte, version string) error {
	o := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/json"}
	if version == "" {
		o.SetMatchETagExcept("*")
	} else {
		o.SetMatchETag(version)
	}
	_, err := s.client.PutObject(ctx, s.bucket, s.prefix+key, bytes.NewReader(data), int64(len(data)), o)
	if err == nil {
		return nil
	}
	return notReplaced(s, key, version, s.fail("writing", key, err))
}

func (s *s3Bucket) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	// GetObject sends its request lazily; Core.GetObject returns the headers at once.
	body, info, _, err := (&minio.Core{Client: s.client}).GetObject(ctx, s.bucket, s.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, Object{}, s.fail("reading", key, err)
	}
	return body, s.object(key, info), nil
}

func (s *s3Bucket) object(key string, i minio.ObjectInfo) Object {
	return Object{Key: key, Size: i.Size, Modified: i.LastModified, Version: i.ETag}
}

func (s *s3Bucket) List(ctx context.Context, prefix string, fn func(Object) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}) {
		if i.Err != nil {
			return s.fail("listing", prefix, i.Err)
		}
		if err := fn(s.object(strings.TrimPrefix(i.Key, s.prefix), i)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *s3Bucket) Delete(ctx context.Context, key string) error {
	err := s.client.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{})
	if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchKey {
		return s.fail("deleting", key, err)
	}
	return nil
}
