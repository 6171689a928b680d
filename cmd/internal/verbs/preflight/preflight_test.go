package preflight

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/processor"
)

// only is the one line of a report.
func only(t *testing.T, r *Report) Line {
	t.Helper()
	if len(r.Lines) != 1 {
		t.Fatalf("the report has the lines %+v", r.Lines)
	}
	return r.Lines[0]
}

// The directory need not exist, and what is written to try it is gone afterwards.
func TestDataDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		dir, found string
		result     Result
	}{
		{dir, "can be written", OK},
		{filepath.Join(dir, "a", "b"), "can be made in " + dir, OK},
		{file, "is a file", Failed},
		{filepath.Join(file, "below"), "", Failed},
	} {
		var r Report
		c := Config{}
		c.Node.DataDir = x.dir
		c.dataDir(&r)
		if l := only(t, &r); l.Result != x.result || !strings.Contains(l.Found, x.found) || (l.WayOut == "") != (x.result == OK) {
			t.Errorf("%s: %+v", x.dir, l)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// An address is free until somebody listens there, and free again after the check.
func TestListeners(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var r Report
	(&Config{Listen: "127.0.0.1:0", AdminListen: ln.Addr().String()}).listeners(&r)
	if len(r.Lines) != 2 || r.Lines[0].Result != OK || r.Lines[1].Result != Failed || !strings.Contains(r.Lines[1].WayOut, "--admin-listen") {
		t.Errorf("%+v", r.Lines)
	}
	if r.Count(OK) != 1 || r.Count(Failed) != 1 || r.Count(Unknown) != 0 {
		t.Errorf("counted as %d ok, %d failed, %d unknown", r.Count(OK), r.Count(Failed), r.Count(Unknown))
	}
}

func TestMemory(t *testing.T) {
	for _, x := range []struct {
		limit  config.Bytes
		result Result
		found  string
	}{{0, OK, "no limit"}, {256 << 20, OK, ""}, {1 << 20, Failed, ""}} {
		var r Report
		c := Config{}
		c.Node.Memory = x.limit
		c.memory(&r, 3)
		if l := only(t, &r); l.Result != x.result || !strings.Contains(l.Found, x.found) {
			t.Errorf("%d bytes: %+v", x.limit, l)
		}
	}
}

// What the brokers refuse is a right that is missing, with the command that gives it. What they say
// nothing about is unknown, and does not fail.
func TestMissingRights(t *testing.T) {
	c := Config{KafkaUser: "tidemark"}
	c.Node.Group, c.Node.Roles = "g", config.Roles{config.RoleQuery}
	c.Node.Topics = processor.Topics{Inputs: [...]string{"chat.messages", "chat.reads", "chat.deliveries"}}
	c.Node.Kafka.Brokers = []string{"kafka:9092"}
	write, describe := []kmsg.ACLOperation{kmsg.ACLOperationWrite}, []kmsg.ACLOperation{kmsg.ACLOperationDescribe}
	all := func() allowed {
		return allowed{
			{"topic", "chat.messages"}: write, {"topic", "chat.reads"}: write, {"topic", "chat.deliveries"}: write, {"group", "g"}: describe,
		}
	}
	var r Report
	c.rights(&r, all())
	if l := only(t, &r); l.Result != OK || !strings.Contains(l.Found, "all 4 ") {
		t.Errorf("all are given: %+v", l)
	}

	r, has := Report{}, all()
	has[[2]string{"topic", "chat.reads"}] = nil
	c.rights(&r, has)
	l := only(t, &r)
	if l.Result != Failed || !strings.Contains(l.Found, "Write on topic chat.reads") ||
		!strings.Contains(l.WayOut, "--bootstrap-server kafka:9092") || !strings.Contains(l.WayOut, "User:tidemark --operation Write --topic chat.reads") {
		t.Errorf("one is refused: %+v", l)
	}

	r, has = Report{}, all()
	delete(has, [2]string{"group", "g"})
	c.rights(&r, has)
	if l := only(t, &r); l.Result != Unknown || !strings.Contains(l.Found, "1 of 4 rights") {
		t.Errorf("nothing is said of one: %+v", l)
	}
}

// Each role reads what it consumes, writes what it produces, and has no right on anything else.
func TestRightsOfRoles(t *testing.T) {
	topics := processor.Topics{
		Inputs: [...]string{"m", "r", "d"}, Unread: "unread", Channels: "channels", Receipts: "receipts", DeadLetters: "dead",
	}
	written := map[config.Role][]string{
		config.RoleProcessor: {"channels", "dead", "receipts", "unread"}, config.RoleCache: nil,
		config.RoleQuery: {"d", "m", "r"}, config.RoleGateway: {"d", "r"},
	}
	for role, want := range written {
		var got []string
		for _, r := range Rights(role, topics, "g") {
			if r.Do == "Write" {
				got = append(got, r.Name)
			}
			if r.Name == "" || r.Resource != "topic" && r.Resource != "group" {
				t.Errorf("%s: %+v", role, r)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s writes %v, want %v", role, got, want)
		}
	}
}

// Only a node that says that it is well is.
func TestHealthy(t *testing.T) {
	status := http.StatusOK
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			t.Errorf("it asks for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	if err := healthy(t.Context(), node.Client(), node.URL); err != nil {
		t.Error(err)
	}
	status = http.StatusServiceUnavailable
	if err := healthy(t.Context(), node.Client(), node.URL); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a node that is not well: %v", err)
	}
	node.Close()
	if err := healthy(t.Context(), node.Client(), node.URL); err == nil {
		t.Error("a node that is gone is well")
	}
}
