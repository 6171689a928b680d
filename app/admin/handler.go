package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidemark/tidemark/app/travel"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/guard/httpguard"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
	"github.com/tidemark/tidemark/snapshot"
)

// Node is the processor of the process.
type Node interface {
	Status() []processor.PartitionStatus
	Checkpoint(partition int32, dir string) error
	Snapshot(ctx context.Context, partition int32, o snapshot.CreateOptions) (*snapshot.Manifest, snapshot.Stats, error)
}

// Config configures a Handler. Node, DataDir and Logger must be set; for Profiles and LogLevel only
// Logger.
type Config struct {
	Node      Node
	DataDir   string
	Snapshots string          // the place of snapshots; empty: nowhere
	Verifier  *auth.Verifier  // nil: there are no keys
	Audit     *audit.Log      // nil: calls are not recorded
	Past      *travel.Guide   // answers about the past; nil: nothing does
	Stopping  context.Context // done when the node begins to stop; nil: never
	Level     *obs.Level      // of Logger, for LogLevel
	Logger    *slog.Logger
}

const (
	maxBody       = 64 << 10
	progressEvery = 250 * time.Millisecond
)

// copyDir is the form of the directories for copies: that of package rebuild.
var copyDir = regexp.MustCompile(`^verify-[0-9A-Za-z]{1,64}/copies/partition-[0-9]{1,10}$`)

type handler struct{ Config }

// Handler serves the calls of this package. Errors have the form of the query API: {"code": …,
// "message": …}.
func Handler(c Config) http.Handler {
	h := &handler{c}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathPartitions, h.partitions)
	mux.HandleFunc("POST "+PathCheckpoint, h.checkpoint)
	mux.HandleFunc("POST "+PathSnapshots, h.snapshots)
	if h.Past != nil {
		for _, procedure := range []string{
			queryv1connect.QueryServiceGetUnreadProcedure, queryv1connect.QueryServiceExplainUnreadProcedure, queryv1connect.QueryServiceGetChannelProcedure,
			queryv1connect.QueryServiceGetReadersProcedure, queryv1connect.QueryServiceGetReceiptsProcedure,
		} {
			mux.Handle("POST "+PathAt+procedure, http.StripPrefix(PathAt, h.Past))
		}
		mux.HandleFunc("POST "+PathDiff, h.diff)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "unimplemented", "there is no such path or method here; there are GET "+PathPartitions+
			", POST "+PathCheckpoint+", POST "+PathSnapshots+", POST "+PathDiff+" and, below POST "+PathAt+", the queries about one channel")
	})
	return h.audited(mux, http.NewCrossOriginProtection().Handler(h.guard(mux)))
}

// audited records each call that mux serves. An unknown path is logged as its known beginning.
func (h *handler) audited(mux *http.ServeMux, next http.Handler) http.Handler {
	return audit.Handler(h.Audit, func(*http.Request) audit.Kind { return audit.Admin }, func(r *http.Request) string {
		_, pattern := mux.Handler(r)
		_, path, found := strings.Cut(pattern, " ")
		if !found {
			path = pattern
		}
		switch name := strings.TrimPrefix(r.URL.Path, pathProfiles); {
		case path == "/":
			return "/admin/"
		case path == pathProfiles && name != r.URL.Path && pprof.Lookup(name) != nil:
			return r.URL.Path
		}
		return path
	}, next)
}

func (h *handler) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, no := auth.Operator(h.Verifier, r, auth.ScopeAdmin)
		if no != nil {
			if no.Err != nil {
				h.Logger.DebugContext(r.Context(), "a token was refused", "err", no.Err)
			}
			if no.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			audit.Heard(r.Context(), id, no.Message)
			refuse(w, no.Status, no.Code, no.Message)
			return
		}
		audit.Heard(r.Context(), id, "")
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer h.Verifier.Hold(id, func(error) { cancel() })()
		if h.Stopping != nil {
			defer context.AfterFunc(h.Stopping, cancel)()
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func (h *handler) partitions(w http.ResponseWriter, _ *http.Request) {
	dir, err := filepath.Abs(h.DataDir)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "internal", err.Error())
		return
	}
	about := About{DataDir: dir, Snapshots: h.Snapshots, Partitions: []Partition{}}
	for _, s := range h.Node.Status() {
		about.Partitions = append(about.Partitions, Partition{s.Partition, s.State == processor.StateLive, s.String(), s.Position})
	}
	reply(w, about)
}

// checkpoint makes a copy of a store. The copy belongs to the caller, even if the call fails later.
func (h *handler) checkpoint(w http.ResponseWriter, r *http.Request) {
	var q CheckpointRequest
	if !decode(w, r, &q) {
		return
	}
	if !copyDir.MatchString(q.Dir) || filepath.Base(q.Dir) != "partition-"+strconv.Itoa(int(q.Partition)) {
		refuse(w, http.StatusBadRequest, "invalid_argument", fmt.Sprintf("dir %.100q is not a place for a copy of partition %d: "+
			"want verify-X/copies/partition-%d", q.Dir, q.Partition, q.Partition))
		return
	}
	base, err := filepath.Abs(h.DataDir)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "internal", err.Error())
		return
	}
	to := filepath.Join(base, filepath.FromSlash(q.Dir))
	if info, err := os.Stat(filepath.Dir(to)); err != nil || !info.IsDir() {
		refuse(w, http.StatusBadRequest, "failed_precondition", fmt.Sprintf("there is no directory %s on this node: a store is verified where "+
			"its node runs, with the same data directory", filepath.Dir(to)))
		return
	}
	err = guard.Err("the copying of a store", func() error { return h.Node.Checkpoint(q.Partition, to) })
	if err != nil {
		status, code := http.StatusInternalServerError, "internal"
		if errors.Is(err, processor.ErrNotOwner) || errors.Is(err, processor.ErrOpening) {
			status, code = http.StatusServiceUnavailable, "unavailable"
		}
		refuse(w, status, code, fmt.Sprintf("partition %d: %s", q.Partition, h.reason(r.Context(), q.Partition, err)))
		return
	}
	h.Logger.InfoContext(r.Context(), "store is copied for verification", "partition", q.Partition, "dir", to)
	reply(w, CheckpointAnswer{Dir: to})
}

// snapshots takes the requested snapshots one after the other and streams their progress.
func (h *handler) snapshots(w http.ResponseWriter, r *http.Request) {
	var q SnapshotsRequest
	if !decode(w, r, &q) {
		return
	}
	if h.Snapshots == "" {
		refuse(w, http.StatusBadRequest, "failed_precondition", "this node has no place for snapshots: start it with --snapshots")
		return
	}
	if q.Partitions == nil {
		for _, s := range h.Node.Status() {
			q.Partitions = append(q.Partitions, s.Partition)
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	out := &events{w: json.NewEncoder(w), flush: http.NewResponseController(w).Flush}
	for _, n := range q.Partitions {
		if r.Context().Err() != nil {
			return // no End, so the caller sees that the answer was cut off
		}
		var m *snapshot.Manifest
		var s snapshot.Stats
		err := guard.Err("the taking of a snapshot", func() (err error) {
			m, s, err = h.Node.Snapshot(r.Context(), n, snapshot.CreateOptions{Full: q.Full, Report: out.progress(n)})
			return err
		})
		switch {
		case err == nil:
			out.send(Event{Partition: n, Taken: &Taken{Manifest: m, Stats: s}})
		case errors.Is(err, snapshot.ErrUnchanged):
			out.send(Event{Partition: n, Taken: &Taken{Manifest: m, Stats: s, Unchanged: true}})
		case errors.Is(err, projections.ErrEmpty):
			out.send(Event{Partition: n, Taken: &Taken{Empty: true}})
		default:
			out.send(Event{Partition: n, Error: h.reason(r.Context(), n, err)})
		}
	}
	out.send(Event{End: true})
}

// diff answers what changed for a user.
func (h *handler) diff(w http.ResponseWriter, r *http.Request) {
	var q travel.Question
	if !decode(w, r, &q) {
		return
	}
	d, err := h.Past.Diff(r.Context(), q)
	if err != nil {
		travel.Refuse(w, err)
		return
	}
	reply(w, d)
}

// reason returns the text of an error about a partition for the caller. A panic is only logged; the
// caller gets the id of its log line.
func (h *handler) reason(ctx context.Context, partition int32, err error) string {
	if guard.Of(err) == nil {
		return err.Error()
	}
	h.Logger.ErrorContext(ctx, "a call about a partition failed", append(guard.Attrs(err), "partition", partition)...)
	if id := obs.RequestID(ctx); id != "" {
		return httpguard.Answer + " (request_id " + id + ")"
	}
	return httpguard.Answer
}

// events writes an answer line by line.
type events struct {
	mu     sync.Mutex
	w      *json.Encoder
	flush  func() error
	sentAt time.Time
}

// send writes a line. If the caller is gone, the request's context is done, which ends the work.
func (e *events) send(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.w.Encode(ev) == nil {
		_ = e.flush()
	}
}

// progress sends a partition's progress at intervals.
func (e *events) progress(n int32) snapshot.Report {
	return func(p snapshot.Progress) {
		if now := time.Now(); now.Sub(e.sentAt) >= progressEvery { // one goroutine at a time
			e.sentAt = now
			e.send(Event{Partition: n, Progress: &p})
		}
	}
}

// decode reads a request and refuses other bodies. It requires a content type that a form of
// another site's page cannot send.
func decode(w http.ResponseWriter, r *http.Request, q any) bool {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "invalid_argument", "send the request as application/json")
		return false
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(q); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_argument", "the request cannot be read: "+err.Error())
		return false
	}
	return true
}

func reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// failure is an error as JSON.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(failure{code, message}) // as in reply
}
