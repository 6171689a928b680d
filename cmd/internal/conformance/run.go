package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/retry"
)

// Config configures a run: the stories and the service.
type Config struct {
	URL     string
	Token   string
	HTTP    *http.Client
	Stories []Story
	Timeout time.Duration // of a query, with its waits
	AtOnce  int           // stories that run at the same time
	Keep    bool          // leave the channels of the stories
}

// Result is the result of a story.
type Result struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Source  Source  `json:"source"`
	OK      bool    `json:"ok"`
	Seconds float64 `json:"seconds"`

	// The other fields are set if the story differs.
	Steps       []string     `json:"steps,omitempty"` // the story's lines up to the query
	Answer      string       `json:"answer,omitempty"`
	Call        string       `json:"call,omitempty"` // with the names of this run
	Differences []Difference `json:"differences,omitempty"`
	Error       string       `json:"error,omitempty"` // the service did not answer
}

// Summary counts the results of all stories.
type Summary struct {
	Target  string  `json:"target"`
	Prefix  string  `json:"prefix"` // of all ids of this run
	Stories int     `json:"stories"`
	OK      int     `json:"ok"`
	Differ  int     `json:"differ"`
	Seconds float64 `json:"seconds"`
}

type runner struct {
	cfg    Config
	client *client
	prefix string
}

// Run runs the stories, and calls done with each result in the order of the stories. An error means
// that the service could not be called, not that an answer is wrong.
func Run(ctx context.Context, cfg Config, done func(*Result) error) (*Summary, error) {
	var id [4]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("make names for this run: %w", err)
	}
	r := &runner{cfg: cfg, client: &client{cfg.URL, cfg.Token, cfg.HTTP}, prefix: "conf-" + hex.EncodeToString(id[:]) + "-"}
	began := time.Now()
	if err := r.probe(ctx); err != nil {
		return nil, err
	}
	sum := &Summary{Target: cfg.URL, Prefix: r.prefix, Stories: len(cfg.Stories)}
	results := make([]*Result, len(cfg.Stories))
	next := 0
	var mu sync.Mutex // of results, next and sum
	group, gctx := guard.WithContext(ctx)
	group.SetLimit(max(cfg.AtOnce, 1))
	for i := range cfg.Stories {
		group.Go("story "+cfg.Stories[i].Name, func() error {
			result, err := r.tell(gctx, &cfg.Stories[i], i)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			results[i] = result
			for ; next < len(results) && results[next] != nil; next++ {
				if results[next].OK {
					sum.OK++
				} else {
					sum.Differ++
				}
				if err := done(results[next]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	sum.Seconds = time.Since(began).Seconds()
	return sum, nil
}

// probe calls the service about an unknown user, to check that it speaks the API and accepts the
// token.
func (r *runner) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	_, err := r.client.tried(ctx, queryService, "GetInbox", map[string]any{"user_id": r.prefix + "nobody"})
	if err != nil {
		return r.explain(err)
	}
	return nil
}

// explain adds the way out to an error that ends the run.
func (r *runner) explain(err error) error {
	var no *refusal
	var dial *net.OpError
	switch {
	case errors.As(err, &no) && no.Code == "unauthenticated":
		return fmt.Errorf("%s requires a token that may publish and read everything (%s): --token-file, or $TIDEMARK_TOKEN", r.cfg.URL, no.Message)
	case errors.As(err, &no) && no.Code == "permission_denied":
		return fmt.Errorf("the token does not allow this call (%s): it needs the scopes read and publish, or service", no.Message)
	case errors.As(err, &no):
		return fmt.Errorf("%s does not answer: %w", r.cfg.URL, no)
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("no service answers at %s (%w): start it, or name another one with --target", r.cfg.URL, dial)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s has not answered within %s: is it a service of this API? Name another with --target", r.cfg.URL, r.cfg.Timeout)
	case errors.Is(err, context.Canceled):
		return context.Canceled
	}
	return fmt.Errorf("%s does not answer as a service of this API does (%w): name another with --target", r.cfg.URL, err)
}

// fatal reports whether an error in the middle of a story ends the whole run.
func fatal(ctx context.Context, err error) bool {
	var no *refusal
	var dial *net.OpError
	return ctx.Err() != nil || errors.As(err, &dial) && dial.Op == "dial" ||
		errors.As(err, &no) && (no.Code == "unauthenticated" || no.Code == "permission_denied")
}

// teller runs one story.
type teller struct {
	*runner
	binding
	pending   []any
	channels  map[string]bool
	after     []string
	untokened bool // true if a Publish was answered without tokens
}

// tell runs a story to its first difference, or to its end. number makes its ids unique.
func (r *runner) tell(ctx context.Context, s *Story, number int) (*Result, error) {
	began := time.Now()
	span := time.Duration(s.SpanMS) * time.Millisecond
	t := &teller{runner: r, channels: map[string]bool{}, binding: binding{
		prefix: fmt.Sprintf("%s%d-", r.prefix, number),
		start:  began.Add(-span - time.Minute).Truncate(time.Second), // a service may refuse times in the future
	}}
	res := &Result{Name: s.Name, Title: s.Title, Source: s.Source, OK: true}
	for i := range s.Steps {
		step := &s.Steps[i]
		res.Steps = append(res.Steps, step.Line)
		t.pending = append(t.pending, t.events(step.Events)...)
		if step.Ask == nil {
			continue
		}
		err := t.publish(ctx)
		if err == nil {
			err = t.question(ctx, step, res)
		}
		if err != nil {
			if fatal(ctx, err) {
				return nil, r.explain(err)
			}
			res.OK, res.Error = false, t.plain(err.Error())
		}
		if !res.OK {
			break
		}
	}
	if res.OK {
		res.Steps = nil
		if !r.cfg.Keep {
			t.clear(ctx)
		}
	}
	res.Seconds = time.Since(began).Seconds()
	return res, nil
}

// batch is the largest number of events in a Publish.
const atMost = 1000

// publish writes the pending events.
func (t *teller) publish(ctx context.Context) error {
	list := t.pending
	t.pending = nil
	for chunk := range slices.Chunk(list, atMost) {
		for _, e := range chunk {
			for _, of := range e.(map[string]any) {
				if channel, ok := of.(map[string]any)["channel_id"].(string); ok {
					t.channels[channel] = true
				}
			}
		}
		limit, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
		answer, err := t.client.tried(limit, ingestService, "Publish", map[string]any{"events": chunk})
		cancel()
		if err != nil {
			return err
		}
		tokens, _ := field(answer, "after").([]any)
		for _, token := range tokens {
			if s, ok := token.(string); ok {
				t.after = append(t.after, s)
			}
		}
		t.after = events.LatestTokens(t.after)
		t.untokened = t.untokened || len(tokens) == 0
	}
	return nil
}

// question sends a query and compares the answer. If Publish returned tokens, the first answer
// counts. A service without tokens is queried again until its answer matches the story, or the time
// is over.
func (t *teller) question(ctx context.Context, step *Step, res *Result) error {
	ask := t.ask(step.Ask)
	if len(t.after) > 0 {
		ask.Request["after"] = t.after
	}
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	for {
		answer, err := t.client.tried(ctx, queryService, ask.Method, ask.Request)
		differences, err := ask.judge(answer, err)
		if err != nil {
			return err
		}
		if len(differences) == 0 {
			return nil
		}
		if t.untokened && retry.Sleep(ctx, pause) {
			continue
		}
		delete(ask.Request, "after")
		res.OK, res.Answer, res.Call = false, step.Answer, ask.Method+" "+text(ask.Request)
		for _, d := range differences {
			res.Differences = append(res.Differences, Difference{t.plain(d.Field), t.plain(d.Got), t.plain(d.Want)})
		}
		return nil
	}
}

// judge compares an answer, or a refusal, with the story.
func (a *Ask) judge(answer map[string]any, err error) ([]Difference, error) {
	var no *refusal
	if err == nil {
		if a.Error != "" {
			return []Difference{{"the answer", text(answer), "the error " + a.Error}}, nil
		}
		return a.differences(answer), nil
	}
	if !errors.As(err, &no) || no.passing() {
		return nil, err
	}
	if a.Error == no.Code {
		return nil, nil
	}
	want := "an answer"
	if a.Error != "" {
		want = "the error " + a.Error
	}
	return []Difference{{"the answer", fmt.Sprintf("the error %s (%s)", no.Code, no.Message), want}}, nil
}

// clear deletes the channels of a story that passed. An error has no consequence.
func (t *teller) clear(ctx context.Context) {
	var list []any
	for channel := range t.channels {
		list = append(list, map[string]any{"message": map[string]any{"channel_id": channel, "channel_deleted": map[string]any{}}})
	}
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	for chunk := range slices.Chunk(list, atMost) {
		if _, err := t.client.tried(ctx, ingestService, "Publish", map[string]any{"events": chunk}); err != nil {
			return
		}
	}
}
