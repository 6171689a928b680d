package travel

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/limit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/query"
	"github.com/tidemark/tidemark/snapshot"
)

// HeaderAt names the moment of a call: a time of RFC 3339, or the as_of of an answer.
const HeaderAt = "Tidemark-At"

// Config configures a Guide. Fold and Logger must be set.
type Config struct {
	// Fold configures the fold: brokers, topics, settings, records to skip. Each question gets a
	// directory of its own in its DataDir.
	Fold processor.Config
	// Snapshots are the snapshots that a fold may begin with; nil: none.
	Snapshots *snapshot.Repository
	// Everywhere allows questions about all channels of a user, for which every partition is folded
	// and held in memory.
	Everywhere bool
	// Report gets the progress of folding; may be nil.
	Report func(processor.RebuildProgress)
	Logger *slog.Logger
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Guide answers queries as of moments of the past, one at a time.
type Guide struct {
	fold       processor.Config
	snapshots  *snapshot.Repository
	everywhere bool
	report     func(processor.RebuildProgress)
	log        *slog.Logger
	now        func() time.Time
	slots      *limit.Slots
}

// scratchPrefix begins the names of the directories of questions.
const scratchPrefix = "travel-"

// New makes a Guide.
func New(c Config) *Guide {
	g := &Guide{fold: c.Fold, snapshots: c.Snapshots, everywhere: c.Everywhere, report: c.Report, log: c.Logger, now: c.Now, slots: limit.NewSlots(1)}
	for i, name := range events.InputTopics {
		if g.fold.Topics.Inputs[i] == "" {
			g.fold.Topics.Inputs[i] = name
		}
	}
	if g.now == nil {
		g.now = time.Now
	}
	return g
}

// Clean removes the directories of questions that a killed process left behind.
func (g *Guide) Clean() {
	left, _ := filepath.Glob(filepath.Join(g.fold.DataDir, scratchPrefix+"*"))
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			g.log.Warn("the directory of an interrupted question about the past cannot be removed", "dir", dir, "err", err)
		}
	}
}

// errBusy refuses a second question.
var errBusy = errors.New("this node is answering another question about the past: try again later, ask another node, or use --offline of the command")

// enter reserves the place of the one question that is answered at a time.
func (g *Guide) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	if !g.slots.Acquire("") {
		return nil, nil, errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	return ctx, func() { cancel(); g.slots.Release("") }, nil
}

// ServeHTTP answers a call of the query API as of the moment in its header. Paths are those of the
// API.
func (g *Guide) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, err := ParseMoment(r.Header.Get(HeaderAt), time.UTC)
	if err != nil {
		Refuse(w, connect.NewError(connect.CodeInvalidArgument, errors.New(HeaderAt+": "+err.Error())))
		return
	}
	ctx, leave, err := g.enter(r.Context())
	if err != nil {
		Refuse(w, connect.NewError(connect.CodeResourceExhausted, err))
		return
	}
	defer leave()
	t, err := g.begin(ctx, m)
	if err != nil {
		Refuse(w, coded(ctx, err))
		return
	}
	defer func() {
		if err := t.close(); err != nil {
			g.log.Warn("the directory of a question about the past cannot be removed", "dir", t.dir, "err", err)
		}
	}()
	at := m.evaluated(g.now())
	h := query.Handler(query.Config{
		Node: t, Topics: t.logs.topics, Inside: t, Logger: g.log, Now: func() time.Time { return at }, Limits: query.Limits{Bodies: 16 << 20},
	})
	h.ServeHTTP(undated{w}, r.WithContext(ctx))
}

// undated is a writer without deadlines: a call's deadlines would pass during the fold.
type undated struct{ w http.ResponseWriter }

func (u undated) Header() http.Header         { return u.w.Header() }
func (u undated) WriteHeader(status int)      { u.w.WriteHeader(status) }
func (u undated) Write(b []byte) (int, error) { return u.w.Write(b) }

// WrapUnary folds the partitions that a call needs before it passes the call on.
func (t *trip) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		partitions, err := t.about(req.Any())
		if err != nil {
			return nil, err
		}
		if err := t.arrive(ctx, partitions); err != nil {
			return nil, coded(ctx, err)
		}
		return next(ctx, req)
	}
}

// about returns the partitions that a request needs.
func (t *trip) about(req any) ([]int32, error) {
	m, ok := req.(proto.Message)
	if !ok {
		return nil, connect.NewError(connect.CodeInternal, errors.New("a request of an unknown kind"))
	}
	if f := m.ProtoReflect().Descriptor().Fields().ByName("channel_id"); f != nil && f.Kind() == protoreflect.StringKind {
		return []int32{events.PartitionOf([]byte(m.ProtoReflect().Get(f).String()), t.logs.partitions)}, nil
	}
	if !t.guide.everywhere {
		return nil, connect.NewError(connect.CodeFailedPrecondition, errors.New("a node answers about one channel of the past: ask about all "+
			"channels of a user offline (--offline)"))
	}
	return t.logs.all(), nil
}

// WrapStreamingClient changes nothing, because a trip makes no calls.
func (t *trip) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler refuses streams.
func (t *trip) WrapStreamingHandler(connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(context.Context, connect.StreamingHandlerConn) error {
		_, err := t.Watch(0, "")
		return connect.NewError(connect.CodeUnimplemented, err)
	}
}

// coded gives an error the code that callers see.
func coded(ctx context.Context, err error) error {
	var known *connect.Error
	var reach *ReachError
	code := connect.CodeUnavailable
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		code = connect.CodeDeadlineExceeded
	case ctx.Err() != nil:
		code = connect.CodeCanceled
	case errors.As(err, &reach):
		code = connect.CodeFailedPrecondition
	}
	return connect.NewError(code, err)
}

// Refuse writes an error in the form of the API.
func Refuse(w http.ResponseWriter, err error) {
	var e *connect.Error
	if !errors.As(err, &e) {
		e = connect.NewError(connect.CodeUnavailable, err)
	}
	status := http.StatusServiceUnavailable
	switch e.Code() {
	case connect.CodeInvalidArgument, connect.CodeFailedPrecondition:
		status = http.StatusBadRequest
	case connect.CodeResourceExhausted:
		status = http.StatusTooManyRequests
	case connect.CodeDeadlineExceeded:
		status = http.StatusGatewayTimeout
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct { // the caller may be gone
		Code    string `json:"code"`
		Message string `json:"message"`
	}{e.Code().String(), e.Message()})
}
