package travel

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// Client returns a client of the query API whose calls the Guide answers, in this process, as of a
// moment.
func (g *Guide) Client(m Moment) queryv1connect.QueryServiceClient {
	return queryv1connect.NewQueryServiceClient(&http.Client{Transport: within{g, m}}, "http://offline")
}

// within calls a Guide in this process.
type within struct {
	guide  *Guide
	moment Moment
}

// RoundTrip answers a request.
func (t within) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(HeaderAt, t.moment.String())
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	out := &recorded{header: http.Header{}, status: http.StatusOK}
	t.guide.ServeHTTP(out, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(out.status), StatusCode: out.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: out.header, Body: io.NopCloser(&out.body), ContentLength: int64(out.body.Len()), Request: r,
	}, nil
}

// recorded is an answer in memory.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) WriteHeader(status int)      { r.status = status }
func (r *recorded) Write(b []byte) (int, error) { return r.body.Write(b) }

// AtHeader adds the moment to calls of a node.
func AtHeader(m Moment) connect.Interceptor {
	return connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			req.Header().Set(HeaderAt, m.String())
			return next(ctx, req)
		}
	})
}
