package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/processor"
)

const (
	// askTimeout bounds how long a node may take to answer. A slower one is listed without a
	// report.
	askTimeout = 2 * time.Second
	// maxAnswer bounds a report. A report of 10,000 partitions has about 2 MiB.
	maxAnswer = 4 << 20
	// membersFresh is how long a list of members is reused.
	membersFresh = 2 * time.Second
)

// Overview describes the whole group.
type Overview struct {
	Nodes []Member `json:"nodes"`
	// Owners has the owner of each partition in the group's view; "" for a partition without one.
	Owners []string `json:"owners"`
	// Error is the reason why the members of the group are unknown. Nodes then has only the owners
	// of partitions, and this node.
	Error string `json:"error,omitempty"`
}

// Member is a node, with its report if it answered.
type Member struct {
	URL      string  `json:"url"`
	Instance string  `json:"instance_id,omitempty"`
	Host     string  `json:"host,omitempty"` // in the brokers' view
	Self     bool    `json:"self"`           // this node
	Outside  bool    `json:"outside"`        // no member of the group
	Took     float64 `json:"seconds"`
	Error    string  `json:"error,omitempty"` // why there is no report
	Report   *Report `json:"report,omitempty"`
}

// Asker queries all nodes of a group, and those that it is told of. All fields must be set, but
// Proof may be empty, and Others nil.
type Asker struct {
	Self    func() Report
	Members func(context.Context) ([]processor.Member, error)
	// Partitions and Owner are the processor's methods.
	Partitions func() int32
	Owner      func(ctx context.Context, partition int32) (string, error)
	// Others returns the URLs of nodes that are no members, such as gateways.
	Others    func(context.Context) []string
	Proof     *peer.Proof
	Transport http.RoundTripper

	mu      sync.Mutex
	at      time.Time
	members []processor.Member
	err     error
}

// Ask queries all nodes at once.
func (a *Asker) Ask(ctx context.Context) Overview {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	o := Overview{Owners: make([]string, a.Partitions())}
	for i := range o.Owners {
		o.Owners[i], _ = a.Owner(ctx, int32(i)) //nolint:gosec // a partition count; one without an owner has none
	}
	self := a.Self()
	o.Nodes = append(o.Nodes, Member{URL: self.URL, Instance: self.Instance, Self: true, Report: &self})
	members, err := a.known(ctx)
	if err != nil {
		o.Error = err.Error()
	}
	for _, owner := range o.Owners {
		members = append(members, processor.Member{Advertise: owner})
	}
	for _, m := range members {
		at := slices.IndexFunc(o.Nodes, func(n Member) bool {
			return n.URL == m.Advertise && (m.Advertise != "" || n.Instance == m.InstanceID && !n.Self)
		})
		switch {
		case at >= 0:
			o.Nodes[at].Host = cmp.Or(o.Nodes[at].Host, m.Host)
		case m.Advertise != "" || m.Host != "":
			o.Nodes = append(o.Nodes, Member{URL: m.Advertise, Instance: m.InstanceID, Host: m.Host})
		}
	}
	if a.Others != nil {
		for _, u := range a.Others(ctx) {
			if !slices.ContainsFunc(o.Nodes, func(n Member) bool { return n.URL == u }) {
				o.Nodes = append(o.Nodes, Member{URL: u, Outside: true})
			}
		}
	}
	asking, ctx := guard.WithContext(ctx)
	for i := range o.Nodes {
		if n := &o.Nodes[i]; !n.Self {
			asking.Go("the asking of a node", func() error { a.fill(ctx, n); return nil })
		}
	}
	if err := asking.Wait(); err != nil { // a panic, which also lost the node's report
		o.Error = cmp.Or(o.Error, err.Error())
	}
	slices.SortFunc(o.Nodes, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.URL, b.URL), strings.Compare(a.Instance, b.Instance))
	})
	return o
}

// fill queries a node, and stores its answer.
func (a *Asker) fill(ctx context.Context, n *Member) {
	began := time.Now()
	report, err := a.ask(ctx, n)
	n.Took = time.Since(began).Seconds()
	if n.Report = report; err != nil {
		n.Error = err.Error()
	}
}

// known returns the members of the group, from a list of at most membersFresh.
func (a *Asker) known(ctx context.Context) ([]processor.Member, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at.IsZero() || time.Since(a.at) >= membersFresh {
		a.members, a.err = a.Members(ctx)
		a.at = time.Now()
	}
	return slices.Clone(a.members), a.err
}

// transport returns the transport of calls to a node. A node outside of the group has published no
// relay key. Without another proof it is called as by anybody, and answers if it has no keys.
func (a *Asker) transport(n *Member) http.RoundTripper {
	if n.Outside && (a.Proof == nil || a.Proof.Secrets == nil && !a.Proof.Certificates) {
		return a.Transport
	}
	return a.Proof.Transport(a.Transport, n.URL)
}

// ask reads the report of a node.
func (a *Asker) ask(ctx context.Context, n *Member) (*Report, error) {
	rawURL := n.URL
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("it advertises no http or https URL: set --advertise there")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(rawURL, "/")+PathSelf, nil)
	if err != nil {
		return nil, err
	}
	res, err := a.transport(n).RoundTrip(r) // it follows no redirect
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("no answer within %s", askTimeout)
	case err != nil:
		return nil, fmt.Errorf("no answer: %w", err)
	}
	defer res.Body.Close()
	body := json.NewDecoder(io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode != http.StatusOK {
		var f failure
		if body.Decode(&f) != nil || f.Message == "" {
			return nil, fmt.Errorf("it answers %s: is it a node, and of this version?", res.Status)
		}
		return nil, fmt.Errorf("it answers with an error: %s", f.Message)
	}
	report := &Report{}
	if err := body.Decode(report); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	return report, nil
}
