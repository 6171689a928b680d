package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/conformance"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

// patience is how long a call may take on a busy machine.
const patience = 2 * time.Minute

// app returns an App for a test, with what it prints. given are the flags of the command line.
func app(t *testing.T, given ...string) (*verbs.App, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	a := &verbs.App{Ctx: t.Context(), Name: "tidemark", Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: io.Discard, Given: map[string]bool{}}
	for _, name := range given {
		a.Given[name] = true
	}
	return a, &out
}

// service answers every question with {}, and counts the calls. Its Publish returns a token, so
// that the first answer counts and no test waits for a better one.
func service(t *testing.T) (url string, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		answer := "{}"
		if strings.HasSuffix(r.URL.Path, "/Publish") {
			answer = `{"after":["chat.messages/0/9"]}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name string
		cmd  Cmd
		want string // part of the error; empty: none
	}{
		{"a target", Cmd{Target: "http://127.0.0.1:1", Timeout: time.Second, AtOnce: 1}, ""},
		{"no time", Cmd{Target: "http://127.0.0.1:1", AtOnce: 1}, "--timeout and --at-once must be above 0"},
		{"no stories at a time", Cmd{Target: "http://127.0.0.1:1", Timeout: time.Second}, "--timeout and --at-once must be above 0"},
		{"no URL", Cmd{Target: "nowhere", Timeout: time.Second, AtOnce: 1}, `"nowhere" is not the URL of a node`},
	} {
		err := c.cmd.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if c.cmd.Timeout > 0 && c.cmd.AtOnce > 0 && c.cmd.Addr != c.cmd.Target {
			t.Errorf("%s: the address is %q", c.name, c.cmd.Addr)
		}
	}
}

// TestChosen: names and beginnings choose stories, each once and in the order of the file. A name
// that chooses nothing is refused, even if the others choose something.
func TestChosen(t *testing.T) {
	all, err := (&Cmd{}).chosen()
	if err != nil || len(all) < 300 {
		t.Fatalf("%d stories, %v", len(all), err)
	}
	first, last := all[0].Name, all[len(all)-1].Name
	for _, c := range []struct {
		story []string
		want  []string
	}{
		{[]string{last, first}, []string{first, last}},
		{[]string{first, first + "*", last}, []string{first, last}},
	} {
		got, err := (&Cmd{Story: c.story}).chosen()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range got {
			if s.Name == first || s.Name == last {
				names = append(names, s.Name)
			} else if !strings.HasPrefix(s.Name, first) {
				t.Errorf("%v chooses %s", c.story, s.Name)
			}
		}
		if strings.Join(names, " ") != strings.Join(c.want, " ") {
			t.Errorf("%v chooses %v, want %v", c.story, names, c.want)
		}
	}
	var usage verbs.UsageError
	if _, err := (&Cmd{Story: []string{first, "nothing*"}}).chosen(); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--story nothing*: there is no such story") {
		t.Errorf("a name that chooses nothing: %v", err)
	}
}

// TestListAsksNobody: --list prints one line a story and calls no service.
func TestListAsksNobody(t *testing.T) {
	url, calls := service(t)
	for _, asJSON := range []bool{false, true} {
		a, out := app(t)
		c := Cmd{Target: url, List: true, Timeout: time.Second, AtOnce: 1}
		c.JSON = asJSON
		all, err := c.chosen()
		if err == nil {
			err = c.Run(a)
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		head := 1 // of the table
		if asJSON {
			head = 0
		}
		if len(lines) != len(all)+head || !strings.Contains(lines[head], all[0].Name) {
			t.Errorf("%d lines for %d stories, the first is %s", len(lines), len(all), lines[head])
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// TestTargetMustBeNamed: the default address alone is no target, because the command writes events
// to it.
func TestTargetMustBeNamed(t *testing.T) {
	url, calls := service(t)
	c := Cmd{Story: []string{"museum-16"}, Timeout: patience, AtOnce: 1}
	c.Addr = url
	a, _ := app(t)
	var usage verbs.UsageError
	if err := c.Run(a); !errors.As(err, &usage) || calls.Load() != 0 {
		t.Errorf("%v after %d calls, want a usage error after none", err, calls.Load())
	}
	a, _ = app(t, "addr")
	if err := c.Run(a); !errors.Is(err, errNotConform) || calls.Load() == 0 {
		t.Errorf("%v after %d calls, want the stories told", err, calls.Load())
	}
}

// TestRunPrintsWhatDiffers: a service that answers nothing fails the story. Both forms of output
// say which one, and end with the sums.
func TestRunPrintsWhatDiffers(t *testing.T) {
	url, _ := service(t)
	c := Cmd{Target: url, Story: []string{"museum-16"}, Timeout: patience, AtOnce: 1}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	a, out := app(t)
	if err := c.Run(a); !errors.Is(err, errNotConform) {
		t.Errorf("it ends with %v", err)
	}
	for _, want := range []string{"differs  museum-16 ", "    the story says: ", "    the call: GetUnread ", "1 stories told to " + url, "0 ok, 1 differ"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	c.JSON = true
	a, out = app(t)
	if err := c.Run(a); !errors.Is(err, errNotConform) {
		t.Errorf("it ends with %v", err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var result conformance.Result
	var last struct {
		Summary conformance.Summary `json:"summary"`
	}
	err := errors.Join(json.Unmarshal([]byte(lines[0]), &result), json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	if err != nil || len(lines) != 2 || result.Name != "museum-16" || result.OK || last.Summary.Differ != 1 {
		t.Errorf("%v, %+v and %+v of\n%s", err, result, last, out)
	}
}

// broken fails to write.
type broken struct{}

var errBroken = errors.New("broken pipe")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// TestRunEndsWithItsOutput: the run ends when nobody takes its output.
func TestRunEndsWithItsOutput(t *testing.T) {
	url, _ := service(t)
	c := Cmd{Target: url, Story: []string{"museum-16"}, Timeout: patience, AtOnce: 1}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	a, _ := app(t)
	a.Stdout = broken{}
	if err := c.Run(a); !errors.Is(err, errBroken) {
		t.Errorf("it ends with %v", err)
	}
}

// TestPrintResult: what a service answers cannot write escape sequences to the terminal.
func TestPrintResult(t *testing.T) {
	var b bytes.Buffer
	r := &conformance.Result{
		Name: "n", Title: "t", Source: conformance.Source{Product: "chat", Issue: "7"}, Steps: []string{"a posts m1"}, Answer: "a: 1 unread",
		Call: "GetUnread {}", Differences: []conformance.Difference{{Field: "unread", Got: "\x1b[2J", Want: "1"}}, Error: "the \x1b[31m end",
	}
	if err := printResult(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"differs  n ", "seen in chat, issue 7\n", "    | a posts m1\n", "the story says: a: 1 unread\n", "      unread: got ", ", want 1\n",
		"the call: GetUnread {}\n", "no answer: the ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("an escape sequence is in %q", &b)
	}
	b.Reset()
	if err := printResult(&b, &conformance.Result{Name: "n", Title: "t", OK: true, Steps: []string{"a posts m1"}}); err != nil || strings.Count(b.String(), "\n") != 1 ||
		!strings.HasPrefix(b.String(), "ok       n ") {
		t.Errorf("%v, %q", err, &b)
	}
}
