package ui

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/app/cluster"
	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/clients/js"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/processor"
)

//go:embed static
var static embed.FS

// Config configures the page. Kafka, Node and Logger must be set.
type Config struct {
	Kafka  config.Kafka
	Topics processor.Topics // every name is set
	Node   Node
	// Ready returns the state that /readyz reports.
	Ready func() (bool, []string)
	// Metrics gathers the node's own metrics.
	Metrics prometheus.Gatherer
	// Verifier verifies the tokens of calls under /ui/api; nil: the node has no keys.
	Verifier *auth.Verifier
	// Audit logs changes and refused callers; nil: they are not logged.
	Audit *audit.Log
	// Cluster describes all nodes of the group; nil: the page has no view of them.
	Cluster func(context.Context) cluster.Overview
	// Snapshots lists the newest snapshot of each partition; nil: the node keeps none.
	Snapshots func(context.Context) ([]Snapshot, error)
	// Admin serves the calls of package admin; the page uses the one for snapshots. nil: the page
	// does not offer it.
	Admin http.Handler
	// Verify rebuilds a partition beside its store and compares both; nil: the page does not offer
	// it.
	Verify func(ctx context.Context, partition int32, progress func(share float64)) (*rebuild.Result, error)
	// Demo is the demo that writes to this stack; nil: there is none.
	Demo  Demo
	About About
	// Stopping is done when the node begins to stop; then streams end.
	Stopping context.Context //nolint:containedctx // it is a signal, as in query.Config
	Logger   *slog.Logger
}

// About describes the stack that the page belongs to.
type About struct {
	Version string `json:"version"`
	Roles   string `json:"roles"`
	Group   string `json:"group"`
	URL     string `json:"url"`
	Broker  string `json:"broker"`
	Redis   string `json:"redis"` // without a password
	Dev     bool   `json:"dev"`   // it is `tidemark dev`, so everything may be tried
	// Snapshots is the URL of the snapshots, as --snapshots takes it, and DataDir the directory of
	// the stores, for the commands that users copy.
	Snapshots string `json:"snapshots"`
	DataDir   string `json:"data_dir"`
}

// Demo is a demo that can pause, and that can leave users to a person.
type Demo interface {
	Set(DemoState)
	State() DemoState
}

// DemoState is the setting of the demo.
type DemoState struct {
	Paused bool     `json:"paused"`
	Away   []string `json:"away"` // users who do nothing by themselves
}

// UI is the page. Its timeline moves only while Run runs.
type UI struct {
	cfg    Config
	feed   *feed
	series series
	counts letterCounts
	mux    *http.ServeMux
	files  map[string]file
}

// file is one embedded file as it is sent.
type file struct {
	body []byte
	kind string
	etag string
}

// New makes the page.
func New(c Config) (*UI, error) {
	if c.Node == nil || c.Logger == nil || c.Metrics == nil || c.Ready == nil {
		return nil, errors.New("ui: Node, Ready, Metrics and Logger must be set")
	}
	if c.Stopping == nil {
		c.Stopping = context.Background()
	}
	u := &UI{cfg: c, feed: newFeed(), files: map[string]file{}}
	for _, part := range []struct {
		prefix string
		fs     fs.FS
		dir    string
	}{{"/", static, "static"}, {"/client/", js.Files(), "."}} {
		if err := u.load(part.prefix, part.fs, part.dir); err != nil {
			return nil, err
		}
	}
	u.mux = http.NewServeMux()
	u.mux.HandleFunc("GET /{$}", u.page)
	u.mux.HandleFunc("/ui/", u.asset)
	api := http.NewServeMux()
	api.HandleFunc("GET /ui/api/about", u.about)
	api.HandleFunc("GET /ui/api/people", u.people)
	api.HandleFunc("GET /ui/api/search", u.search)
	api.HandleFunc("GET /ui/api/history", u.history)
	api.HandleFunc("GET /ui/api/changes", u.changes)
	api.HandleFunc("GET /ui/api/operators", u.operators)
	api.HandleFunc("GET /ui/api/series", u.lastHour)
	api.HandleFunc("GET /ui/api/cluster", u.cluster)
	api.HandleFunc("GET /ui/api/deadletters", u.deadLetters)
	api.HandleFunc("POST /ui/api/deadletters/replay", u.replay)
	api.HandleFunc("POST /ui/api/verify", u.verify)
	api.HandleFunc("POST /ui/api/demo", u.demo)
	if c.Admin != nil { // it has its own guard and audit
		u.mux.Handle("POST /ui/api/admin/snapshots", http.StripPrefix("/ui/api", c.Admin))
	}
	// A page of another site must not be able to send these requests.
	u.mux.Handle("/ui/api/", u.audited(api, http.NewCrossOriginProtection().Handler(noStore(u.guard(api)))))
	return u, nil
}

// load adds the files of a directory, with names under /ui.
func (u *UI) load(prefix string, from fs.FS, dir string) error {
	return fs.WalkDir(from, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		kind, ok := kinds[path.Ext(name)]
		if !ok {
			return nil // it has types for compilers
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return fmt.Errorf("embedded page: %w", err)
		}
		sum := sha256.Sum256(body)
		u.files["/ui"+prefix+strings.TrimPrefix(name, dir+"/")] = file{body, kind, `"` + hex.EncodeToString(sum[:8]) + `"`}
		return nil
	})
}

var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
}

// policy allows only what this address serves: no inline script or style, no frame, no form, and no
// evaluation of text as code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// ServeHTTP serves GET / and everything under /ui/.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	u.mux.ServeHTTP(w, r)
}

func (u *UI) page(w http.ResponseWriter, r *http.Request) { u.send(w, r, "/ui/index.html") }

func (u *UI) asset(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, errors.New("only GET and HEAD are allowed here"))
		return
	}
	u.send(w, r, r.URL.Path)
}

// send answers with an embedded file. Browsers revalidate it each time, and get a 304 if it is the
// same.
func (u *UI) send(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := u.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	if r.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(f.body) // the client may be gone, and nobody else can receive the error
}

func (u *UI) about(w http.ResponseWriter, _ *http.Request) {
	answer := struct {
		About
		Demo     *DemoState `json:"demo"`     // null: there is none
		Unfolded []string   `json:"unfolded"` // the kinds and fields that the node refuses, which the page does not offer
		Deeds    deeds      `json:"deeds"`
	}{About: u.cfg.About, Unfolded: events.Unfolded(), Deeds: deeds{u.cfg.Admin != nil && u.cfg.Snapshots != nil, u.cfg.Verify != nil}}
	if u.cfg.Demo != nil {
		s := u.cfg.Demo.State()
		answer.Demo = &s
	}
	reply(w, answer)
}

func (u *UI) demo(w http.ResponseWriter, r *http.Request) {
	var s DemoState
	if u.cfg.Demo == nil {
		refuse(w, http.StatusNotFound, errors.New("there is no demo here"))
		return
	}
	if err := body(w, r, &s); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	u.cfg.Demo.Set(s)
	reply(w, u.cfg.Demo.State())
}
