package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.LeakFree(m) }

// read returns the lines of a file, each of which must be one object.
func read(t *testing.T, name string) (lines []map[string]any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatalf("%q is no line of the audit log: %v", s.Text(), err)
		}
		lines = append(lines, line)
	}
	return lines
}

// Existing lines stay, only the owner can read the file, and lines of concurrent writers are whole.
func TestLinesAreAddedToAPrivateFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(name, []byte(`{"kind":"of before"}`+"\n"), 0o644); err != nil { //nolint:gosec // it is tightened
		t.Fatal(err)
	}
	l, err := Open(name, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				l.Note(Entry{Kind: Publish, Who: fmt.Sprintf("<svc>\n%d-%d", i, j), Outcome: OK})
			}
		})
	}
	wg.Wait()
	l.Close()
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	lines := read(t, name)
	if len(lines) != 801 || lines[0]["kind"] != "of before" {
		t.Fatalf("%d lines, the first %v", len(lines), lines[0])
	}
	seen := map[any]bool{}
	for _, line := range lines[1:] {
		seen[line["who"]] = true
	}
	if len(seen) != 800 || !seen["<svc>\n7-99"] {
		t.Errorf("%d of 800 are there", len(seen))
	}
	for _, bad := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nowhere", "audit"), os.DevNull} {
		if _, err := Open(bad, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// After logrotate moves the file away, lines go to a new file within a second. While no new file
// can be created, they go to the old one.
func TestAFileThatWasMovedAwayIsOpenedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "audit")
	synctest.Test(t, func(t *testing.T) {
		var output testkit.Output
		l, err := Open(name, nil, slog.New(slog.NewTextHandler(&output, nil)))
		if err != nil {
			t.Fatal(err)
		}
		note := func(who string) {
			t.Helper()
			l.Note(Entry{Kind: Admin, Who: who, Outcome: OK})
			time.Sleep(1500 * time.Millisecond)
			synctest.Wait()
		}
		wrote := func(name, who string) {
			t.Helper()
			if lines := read(t, name); len(lines) == 0 || lines[len(lines)-1]["who"] != who {
				t.Errorf("%s: %v; want %s at its end", name, lines, who)
			}
		}
		note("ann")
		wrote(name, "ann")
		if err := os.Rename(name, name+".1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		note("bob")
		wrote(name, "bob")
		wrote(name+".1", "ann")
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		note("cleo")
		wrote(filepath.Join(dir+".away", "audit"), "cleo")
		if !strings.Contains(output.String(), "lines go to the old file") {
			t.Errorf("the log has no error: %s", output.String())
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		note("dan")
		wrote(name, "dan")
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		l.Close()
	})
}

// The log has a hundred refusals per second, and the number of the others. It omits no other lines.
func TestRefusalsAreBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit")
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(name, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for range 1000 {
				l.Note(Entry{Kind: Refusal, Outcome: "unauthenticated"})
			}
			for range 150 {
				l.Note(Entry{Kind: Erasure, Outcome: OK})
			}
			time.Sleep(1100 * time.Millisecond)
		}
		l.Close()
	})
	kinds, left := map[any]int{}, 0.0
	for _, line := range read(t, name) {
		kinds[line["kind"]]++
		if line["kind"] == string(leftOut) {
			left += line["refusals"].(float64)
		}
	}
	if kinds["refusal"] != 300 || kinds["erasure"] != 450 || left != 2700 || kinds["left_out"] != 3 {
		t.Errorf("%v, %v left out; want 300, 450 and 2700 in 3 lines", kinds, left)
	}
}

// A full disk blocks nobody and leaves no partial line. It is logged once a second and counted in a
// metric. Once there is space, the audit log has the number of lost lines too.
func TestAFullDiskHoldsUpNobody(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit")
	synctest.Test(t, func(t *testing.T) {
		f, err := openFile(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		var full atomic.Bool
		f.write = func(f *os.File, line []byte) (int, error) {
			if !full.Load() {
				return f.Write(line)
			}
			n, err := f.Write(line[:len(line)/2])
			return n, errors.Join(err, syscall.ENOSPC)
		}
		var output testkit.Output
		l := newLog(f, slog.New(slog.NewTextHandler(&output, nil)), time.Now)
		r := prometheus.NewRegistry()
		l.Register(r)
		l.start()
		note := func(who string) {
			l.Note(Entry{Kind: Admin, Who: who, Outcome: OK})
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		note("before")
		full.Store(true)
		for range 300 { // in 3 s
			note("lost")
		}
		if n := strings.Count(output.String(), "no space left on device"); n < 3 || n > 4 {
			t.Errorf("said %d times in 3 s:\n%s", n, output.String())
		}
		full.Store(false)
		note("after")
		time.Sleep(2 * time.Second)
		l.Close()
		if got := lost(t, r); got != 300 {
			t.Errorf("%v lines are counted as lost, want 300", got)
		}
	})
	lines := read(t, name)
	if len(lines) != 3 || lines[0]["who"] != "before" || lines[1]["who"] != "after" || lines[2]["lost"] != 300.0 {
		t.Errorf("%v", lines)
	}
}

// A disk that hangs blocks nobody either: lines wait in memory up to a limit, and a stop waits two
// seconds.
func TestADiskThatHangsHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		f := &file{out: writing(func(b []byte) (int, error) { <-hang; return len(b), nil })}
		l := newLog(f, slog.New(slog.DiscardHandler), time.Now)
		r := prometheus.NewRegistry()
		l.Register(r)
		l.start()
		long := Entry{Kind: Admin, Who: strings.Repeat("x", 1<<20)}
		began := time.Now()
		for range 20 {
			l.Note(long)
			synctest.Wait() // the first of them hangs
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("noting took %s", took)
		}
		if got := lost(t, r); got != 12 {
			t.Errorf("%v lines are lost; one hangs, 7 MiB wait", got)
		}
		l.Close()
		if took := time.Since(began); took != closeTimeout {
			t.Errorf("the stop took %s", took)
		}
		close(hang)
		<-l.done
	})
}

// lost returns the metric of lost lines.
func lost(t *testing.T, r *prometheus.Registry) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "tidemark_audit_lost_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatal("there is no metric")
	return 0
}

type writing func([]byte) (int, error)

func (w writing) Write(b []byte) (int, error) { return w(b) }

// An entry of a handler has the name of the route and the caller, whatever the result of the
// request.
func TestRequestsOfAHandler(t *testing.T) {
	var out testkit.Output
	l, err := Open(Stderr, &out, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := Handler(l, func(r *http.Request) Kind {
		if r.Method == http.MethodPost {
			return Admin
		}
		return ""
	}, func(*http.Request) string { return "/known" }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/refused":
			Heard(r.Context(), auth.Identity{Subject: "ann"}, "not yours")
			w.WriteHeader(http.StatusForbidden)
		case "/panic":
			panic(http.ErrAbortHandler)
		case "/flushed":
			Heard(r.Context(), auth.Identity{Subject: "ops", Scopes: auth.ScopeAdmin}, "")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, "x")
		}
	}))
	for _, r := range []string{"GET /refused", "POST /flushed", "POST /panic", "GET /fine", "POST /fine"} {
		method, path, _ := strings.Cut(r, " ")
		req := httptest.NewRequestWithContext(t.Context(), method, path+"?token=eyJhbGciOi", nil)
		req.RemoteAddr = "[::ffff:192.0.2.1]:1234"
		func() {
			defer func() { _ = recover() }()
			h.ServeHTTP(httptest.NewRecorder(), req)
		}()
	}
	l.Close()
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s %s", e.Kind, e.Who, e.Scopes, e.What, e.From, e.Outcome, e.Why))
	}
	want := []string{
		"refusal ann  /known 192.0.2.1 permission_denied not yours", "admin ops admin /known 192.0.2.1 ok ",
		"admin   /known 192.0.2.1 internal ", "admin   /known 192.0.2.1 ok ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q\nwant %q", got, want)
	}
}
