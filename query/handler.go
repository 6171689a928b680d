package query

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/internal/audited"
	"github.com/tidemark/tidemark/query/internal/codec"
	"github.com/tidemark/tidemark/query/internal/gate"
	"github.com/tidemark/tidemark/query/internal/ingest"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/internal/reflection"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

const (
	// maxQueryBody and maxIngestBody limit the body of a request, also after decompression.
	maxQueryBody  = 1 << 20
	maxIngestBody = 8 << 20
	// bodyTimeout is how long a request's body may take to arrive. It is well above maxCall,
	// because over HTTP/1.1 a read deadline that passes during the answer would cancel the call.
	bodyTimeout = 30 * time.Second
	// answerTimeout is how long a call that is not a stream may take, including the writing of its
	// answer. It cuts off a client that does not read.
	answerTimeout = time.Minute
)

// method is one procedure of the services.
type method struct {
	handler http.Handler
	maxBody int64
	stream  bool        // the answer is a stream
	scopes  auth.Scopes // a token needs one of these; 0: none
	get     bool        // may be called by GET
}

// front refuses requests that are no calls of these services, each with one sentence, and limits
// the rest before connect sees them. Errors have connect's form, {"code": …, "message": …}.
type front struct {
	methods map[string]method
	names   string
	errors  *connect.ErrorWriter
	auth    *authorizer
	service *service
	gate    *gate.Gate
	metrics *metrics

	peers *peer.Proof
	log   *slog.Logger
	audit *audit.Log
	// doubted logs calls that claim to come from nodes without proof.
	doubted *obs.Seldom

	bodyTimeout, answerTimeout time.Duration
}

// Handler serves QueryService, gRPC reflection and, with a Producer, IngestService, over Connect,
// gRPC, gRPC-Web and plain JSON; nothing else. It panics if c lacks a required field.
func Handler(c Config) http.Handler {
	c = c.withDefaults()
	m := newMetrics(c.Registerer, c.Logger)
	m.trace = c.Trace
	s := newService(c, m)
	authorize := &authorizer{c.Verifier, s}
	options := append(codec.Options(func() int { return position.MaxTokens(c.Node.Partitions()) }),
		connect.WithCompressMinBytes(1024),
		connect.WithInterceptors(interceptors(&c, m, authorize)...),
	)
	f := &front{
		methods: map[string]method{}, errors: connect.NewErrorWriter(options...), auth: authorize, service: s, peers: &c.Peers, log: c.Logger, audit: c.Audit, doubted: obs.NewSeldom(c.Logger, nil), gate: gate.New(c.Limits, maxQueryBody, maxIngestBody), metrics: m,
		bodyTimeout: c.bodyTimeout, answerTimeout: c.answerTimeout,
	}

	_, query := queryv1connect.NewQueryServiceHandler(s, append(options, connect.WithReadMaxBytes(maxQueryBody))...)
	for _, p := range []string{
		queryv1connect.QueryServiceGetUnreadProcedure, queryv1connect.QueryServiceGetInboxProcedure,
		queryv1connect.QueryServiceGetThreadsProcedure, queryv1connect.QueryServiceExplainUnreadProcedure, queryv1connect.QueryServiceGetChannelProcedure,
		queryv1connect.QueryServiceGetReadersProcedure, queryv1connect.QueryServiceGetReceiptsProcedure,
		queryv1connect.QueryServiceListUserChannelsProcedure,
	} {
		m := method{handler: query, maxBody: maxQueryBody, get: true}
		if p == queryv1connect.QueryServiceListUserChannelsProcedure {
			m.scopes = auth.ScopeRead
		}
		f.methods[p] = m
	}
	f.methods[queryv1connect.QueryServiceWatchUnreadProcedure] = method{handler: query, maxBody: maxQueryBody, stream: true}

	if c.Producer != nil {
		_, publishing := ingestv1connect.NewIngestServiceHandler(ingest.New(ingest.Config{
			Producer: c.Producer, Topics: c.Topics, Queries: s, Timeout: maxCall, Now: c.Now, Logger: c.Logger, Trace: c.Trace,
		}), append(options, connect.WithReadMaxBytes(maxIngestBody))...)
		f.methods[ingestv1connect.IngestServicePublishProcedure] = method{handler: publishing, maxBody: maxIngestBody, scopes: auth.ScopePublish | auth.ScopeErase}
		f.methods[ingestv1connect.IngestServiceMarkAllReadProcedure] = method{handler: publishing, maxBody: maxQueryBody}
	}
	names := make([]string, 0, len(f.methods))
	for p := range f.methods {
		names = append(names, p)
	}
	slices.Sort(names)
	f.names = strings.Join(names, ", ")
	for p, h := range reflection.Handlers(queryv1connect.QueryServiceName, ingestv1connect.IngestServiceName) {
		f.methods[p] = method{handler: h, maxBody: maxQueryBody}
	}
	return f
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, ok := f.methods[r.URL.Path]
	if !ok {
		f.refuse(w, r, http.StatusNotFound, connect.CodeUnimplemented,
			fmt.Sprintf("there is no method %.200q here; there are %s", r.URL.Path, f.names))
		return
	}
	switch {
	case r.Method == http.MethodPost:
		if why := wrongContentType(r.Header.Get("Content-Type"), m.stream); why != "" {
			f.refuse(w, r, http.StatusUnsupportedMediaType, connect.CodeInvalidArgument, why)
			return
		}
	case r.Method == http.MethodGet && m.get:
	default:
		allow := "POST"
		if m.get {
			allow = "GET, POST"
		}
		w.Header().Set("Allow", allow)
		f.refuse(w, r, http.StatusMethodNotAllowed, connect.CodeUnimplemented,
			fmt.Sprintf("%.20q is not for calls, send a POST", r.Method))
		return
	}
	if r.ContentLength > m.maxBody {
		f.refuse(w, r, http.StatusRequestEntityTooLarge, connect.CodeResourceExhausted,
			fmt.Sprintf("the body has %d bytes, the limit is %d", r.ContentLength, m.maxBody))
		return
	}
	admitted, release, err := f.admit(&m, r)
	if err != nil {
		f.deny(w, admitted, err)
		return
	}
	defer release()
	r = admitted
	c := http.NewResponseController(w)
	// A ResponseWriter without deadlines, as in tests, keeps those of its server.
	_ = c.SetReadDeadline(time.Now().Add(f.bodyTimeout))
	if m.stream {
		r = r.WithContext(context.WithValue(r.Context(), controllerKey{}, c))
	} else {
		_ = c.SetWriteDeadline(time.Now().Add(f.answerTimeout))
	}
	m.handler.ServeHTTP(w, r)
}

// controllerKey is the context key of a stream's *http.ResponseController.
type controllerKey struct{}

// wrongContentType returns the fault of a content type, or "".
func wrongContentType(header string, stream bool) string {
	media, params, err := mime.ParseMediaType(header)
	if cs := params["charset"]; err == nil && cs != "" && !strings.EqualFold(cs, "utf-8") {
		return fmt.Sprintf("charset %.50q is not supported: send UTF-8", cs)
	}
	want := "application/json (or application/proto, or gRPC)"
	unary := media == "application/json" || media == "application/proto"
	streaming := media == "application/connect+json" || media == "application/connect+proto"
	if stream {
		want = "application/connect+json (or application/connect+proto, or gRPC), for this method streams"
		unary, streaming = streaming, unary
	}
	switch media {
	case "application/grpc", "application/grpc+proto", "application/grpc+json",
		"application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json":
		return ""
	}
	switch {
	case err == nil && unary && !streaming:
		return ""
	case header == "":
		return "the request has no Content-Type: send " + want
	}
	return fmt.Sprintf("Content-Type %.100q is not supported: send %s", header, want)
}

// deny answers a call that was not admitted, in the form of its protocol.
func (f *front) deny(w http.ResponseWriter, r *http.Request, err error) {
	code := connect.CodeOf(err)
	f.metrics.calls.WithLabelValues(path.Base(r.URL.Path), code.String()).Inc()
	if audit.IsRefusal(code.String()) {
		e := audit.Of(r.Context(), audit.Refusal, r.URL.Path, r.RemoteAddr)
		e.Outcome, e.Why = code.String(), audited.Message(err)
		f.audit.Note(e)
	}
	_ = f.errors.Write(w, r, err) // the caller may be gone
}

// refuse answers a request that is not a call. Clients of a streaming protocol get the error in
// that protocol's form.
func (f *front) refuse(w http.ResponseWriter, r *http.Request, status int, code connect.Code, message string) {
	media := r.Header.Get("Content-Type")
	if r.Method == http.MethodPost && (strings.HasPrefix(media, "application/grpc") || strings.HasPrefix(media, "application/connect+")) &&
		status != http.StatusUnsupportedMediaType {
		_ = f.errors.Write(w, r, connect.NewError(code, fmt.Errorf("%s", message)))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// It can only fail if the client is gone.
	_ = json.NewEncoder(w).Encode(struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}{code.String(), message})
}
