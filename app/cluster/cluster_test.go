package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// folding owns partition 1, which is being opened, and follows partition 2.
type folding struct{}

func (folding) Status() []processor.PartitionStatus {
	return []processor.PartitionStatus{{Partition: 1, Position: projections.Position{7, 1, 0}, Ends: projections.Position{9, 1, 4}, Lag: [3]int64{2, 0, 4}, Progress: .5, ETA: time.Minute, Full: errors.New("the disk is full")}}
}

func (folding) Standbys() []processor.PartitionStatus {
	return []processor.PartitionStatus{{Partition: 2, State: processor.StateStandby}}
}

func (folding) Stats(int32) (s projections.Stats, d projections.Disk, live bool) { return }

func TestPartitions(t *testing.T) {
	got := fmt.Sprintf("%+v", Partitions(folding{}))
	want := "[{Partition:1 State:opening Standby:false Position:[7 1 0] Ends:[9 1 4] Lag:6 Progress:0.5 ETA:60 Error:the disk is full HotBytes:0 DiskBytes:0} " +
		"{Partition:2 State:standby Standby:true Position:[0 0 0] Ends:[0 0 0] Lag:0 Progress:0 ETA:0 Error: HotBytes:0 DiskBytes:0}]"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if n := MemoryBytes(); n < 1<<20 {
		t.Errorf("this process holds %d bytes", n)
	}
}

// far is a node at an address, whose relay key is known to others as key.
func far(t *testing.T, key string, verifier *auth.Verifier) string {
	t.Helper()
	var h http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	proof := &peer.Proof{Self: s.URL, RelayKey: func(string) string { return key }}
	h = Handler(func() Report {
		return Report{URL: s.URL, Version: "v1", Ready: true, Partitions: Partitions(folding{})}
	}, proof, verifier, slog.New(slog.DiscardHandler))
	return s.URL
}

// All members are asked, one that is asked of twice only once. Those that do not answer, are no
// nodes, or do not believe this one, are listed with the reason.
func TestAskingAllNodes(t *testing.T) {
	good, doubting, outside := far(t, "k1", authtest.Verifier(t)), far(t, "another key", nil), far(t, "k1", nil)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer stuck.Close()
	asked := 0
	a := &Asker{
		Self: func() Report { return Report{URL: "http://self", Instance: "me"} },
		Members: func(context.Context) ([]processor.Member, error) {
			asked++
			return []processor.Member{
				{Advertise: "http://self", Host: "/10.0.0.1"}, {Advertise: good, Host: "/10.0.0.2"}, {Advertise: doubting}, {Advertise: gone.URL},
				{Advertise: stranger.URL}, {Advertise: stuck.URL}, {Host: "/10.0.0.9", InstanceID: "mute"},
			}, nil
		},
		Partitions: func() int32 { return 3 },
		Owner: func(_ context.Context, n int32) (string, error) {
			return [...]string{"http://self", good, ""}[n], nil
		},
		Others: func(context.Context) []string { return []string{outside, good} },
		Proof:  &peer.Proof{RelayKey: func(url string) string { return map[bool]string{false: "k1"}[url == outside] }}, Transport: http.DefaultTransport,
	}
	o := a.Ask(t.Context())
	if len(o.Nodes) != 8 || strings.Join(o.Owners, " ") != "http://self "+good+" " || o.Error != "" {
		t.Fatalf("%+v", o)
	}
	for url, want := range map[string]string{
		doubting: "it answers with an error: this call is not from a node of this cluster", gone.URL: "no answer: dial tcp", stranger.URL: "it answers 404 Not Found: is it a node",
		stuck.URL: "no answer within 2s", "": "it advertises no http or https URL", "http://self": "", good: "", outside: "",
	} {
		for _, n := range o.Nodes {
			if n.URL == url && (!strings.HasPrefix(n.Error, want) || want == "" && (n.Error != "" || n.Report == nil)) {
				t.Errorf("%q: %q, report %+v; want %q", url, n.Error, n.Report, want)
			}
			if n.URL == url && n.Outside != (url == outside) {
				t.Errorf("%s: outside of the group: %t", url, n.Outside)
			}
			if url == good && n.URL == good && (n.Report == nil || len(n.Report.Partitions) != 2 || n.Host != "/10.0.0.2") {
				t.Errorf("%+v", n)
			}
		}
	}
	a.Members = func(context.Context) ([]processor.Member, error) { return nil, errors.New("no broker") }
	a.at = time.Time{}
	if o := a.Ask(t.Context()); o.Error != "no broker" || len(o.Nodes) != 3 {
		t.Errorf("without members: %+v", o)
	}
	a.Ask(t.Context())
	if asked != 1 {
		t.Errorf("the group was asked %d times", asked)
	}
}

// A name with several addresses stands for a node at each; certificates are valid for names.
func TestOthers(t *testing.T) {
	names := map[string][]string{"gateways": {"10.0.0.7", "10.0.0.6", "10.0.0.7"}, "one": {"10.0.0.9"}, "six": {"fd00::1", "10.0.0.1"}}
	others := Others([]string{"http://gateways:8081", "https://gateways:8443", "http://one:8081", "http://10.0.0.5:8080", "http://nowhere:1", "http://six"},
		func(_ context.Context, host string) ([]string, error) {
			if list, ok := names[host]; ok {
				return list, nil
			}
			return nil, fmt.Errorf("there is no %s", host)
		})
	want := "http://10.0.0.6:8081 http://10.0.0.7:8081 https://gateways:8443 http://one:8081 http://10.0.0.5:8080 http://nowhere:1 http://10.0.0.1:80 http://[fd00::1]:80"
	if got := strings.Join(others(t.Context()), " "); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// With keys a report is for nodes and for tokens of scope admin; without them, for callers at an
// address.
func TestWhoMayReadAReport(t *testing.T) {
	keyed, open := far(t, "k1", authtest.Verifier(t)), far(t, "k1", nil)
	for _, w := range []struct {
		url, token, host string
		want             int
	}{
		{keyed, "", "", http.StatusUnauthorized}, {keyed, authtest.Token(t, "ann", time.Hour), "", http.StatusForbidden},
		{keyed, authtest.Scoped(t, "op", "admin"), "", http.StatusOK}, {keyed, authtest.Service(t), "", http.StatusOK},
		{open, "", "", http.StatusOK}, {open, "", "evil.example", http.StatusForbidden},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+PathSelf, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = w.host
		if w.token != "" {
			r.Header.Set("Authorization", "Bearer "+w.token)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != w.want {
			t.Errorf("%+v: %d", w, res.StatusCode)
		}
	}
}
