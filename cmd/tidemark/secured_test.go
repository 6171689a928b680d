package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

var documentedRight = regexp.MustCompile(`(?m)^([a-z ]+): (\w+) on (topic|group|cluster) ?(.*)$`)

// documentedRights are those of docs/security.md, by role.
func documentedRights(t *testing.T) map[string][]testkit.Right {
	t.Helper()
	rights := map[string][]testkit.Right{}
	for _, m := range documentedRight.FindAllStringSubmatch(document(t, "docs/security.md"), -1) {
		for _, name := range strings.Split(m[4], ", ") {
			rights[m[1]] = append(rights[m[1]], testkit.Right{Resource: m[3], Name: name, Do: m[2]})
		}
	}
	return rights
}

// as gives the rights of some roles to a Kafka user of its own, and returns the flags with which
// that user connects.
func as(t *testing.T, s *testkit.Secured, user string, rights []testkit.Right) []string {
	t.Helper()
	file := s.User(user)
	for i := range rights {
		rights[i].User = user
	}
	s.Allow(rights...)
	return []string{
		"--brokers", strings.Join(s.Brokers, ","), "--kafka-tls", "--kafka-ca", s.CAFile, "--kafka-sasl", "scram-sha-512",
		"--kafka-user", user, "--kafka-password-file", file,
	}
}

// secured is a role that runs as a user of its own.
type secured struct {
	user   string
	rights []testkit.Right
	kafka  []string // flags with which it connects
	args   []string // all of them, but for --listen
}

// TestRolesWithTheRightsOfTheDocument: topics are made, events are folded, answered, cached and
// pushed by four users of a real Kafka (TLS, SCRAM, Kafka's own authorizer) and three of a real
// Redis (TLS, ACLs), each with the rights that docs/security.md and docs/redis.md give to its role.
// Without one of them the role says so, and names what it is about.
func TestRolesWithTheRightsOfTheDocument(t *testing.T) {
	s := testkit.SecuredServers(t)
	rights := documentedRights(t)
	redisUsers(t, s)
	redis := func(user string) []string {
		return []string{"--redis", strings.Replace(s.RedisURL, "rediss://", "rediss://"+user+"@", 1), "--redis-ca", s.CAFile, "--redis-password-file", redisPassword(t)}
	}
	ok(t, "", append([]string{"topics", "create", "--partitions", "2", "--replication-factor", "1"}, as(t, s, "admin", rights["topics create"])...)...)

	node := secured{user: "node", rights: slices.Concat(rights["processor"], rights["query"])}
	node.kafka = as(t, s, node.user, node.rights)
	node.args = append([]string{"run", "--roles", "processor,query", "--data-dir", t.TempDir(), "--memory", "256MiB"}, node.kafka...)
	cache := secured{user: "cache", rights: rights["cache"]}
	cache.args = slices.Concat([]string{"run", "--roles", "cache", "--memory", "256MiB"}, as(t, s, cache.user, cache.rights), redis("tidemark-cache"))
	gateway := secured{user: "gateway", rights: rights["gateway"]}
	gateway.args = slices.Concat([]string{"gateway"}, as(t, s, gateway.user, gateway.rights), redis("tidemark-gateway"))

	url, stopNode := node.start(t)
	awaitReady(t, url)
	cacheURL, stopCache := cache.start(t)
	gatewayURL, stopGateway := gateway.start(t)
	after := lines(ok(t, joinLine+"\n"+postLine("m1", "x")+"\n"+postLine("m2", "y")+"\n"+readLine, "emit", "--brokers", strings.Join(s.Open, ",")))
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Open...), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "chat.messages", Key: []byte("general"), Value: []byte("{no event")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if out := ok(t, "", "query", "unread", "ann", "general", "--addr", url, "--after", strings.Join(after, ",")); !strings.Contains(out, "unread          1") {
		t.Errorf("by the node: %s", out)
	}
	eventually(t, "undecodable", append([]string{"deadletters", "list"}, "--brokers", strings.Join(s.Open, ","))...)
	awaitOK(t, gatewayURL+"/readyz")
	awaitOK(t, cacheURL+"/readyz")
	until(t, "Redis has the count", func() bool {
		return strings.Contains(s.Redis.HGet(t.Context(), "inbox:ann", "general").Val(), `"unread":1`)
	})
	for _, stop := range []func() int{stopGateway, stopCache, stopNode} {
		if code := stop(); code != exitDone {
			t.Errorf("exit %d", code)
		}
	}

	for _, role := range []secured{node, cache, gateway} {
		for _, r := range role.rights {
			// One of each kind is enough: each takes a start of the role.
			if !slices.Contains([]string{"chat.messages", "tidemark.unread", "tidemark.receipts", "tidemark", "tidemark-cache"}, r.Name) || role.user == "gateway" || strings.HasPrefix(r.Do, "Describe") || r.Name == "chat.messages" && r.Do == "Write" {
				continue
			}
			t.Run(role.user+" without "+r.Do+" on "+r.Resource+" "+r.Name, func(t *testing.T) {
				s.Revoke(r)
				defer s.Allow(r)
				refused(t, role, r.Name, "_AUTHORIZATION_FAILED")
			})
		}
	}
}

// refused runs a role and waits until it says that it was refused something.
func refused(t *testing.T, role secured, what, word string) {
	t.Helper()
	_, errout, stop := background(t, append(role.args, "--listen", "127.0.0.1:0")...)
	until(t, "the role says "+word+" of "+what, func() bool {
		return slices.ContainsFunc(lines(errout.String()), func(l string) bool { return strings.Contains(l, what) && strings.Contains(l, word) })
	})
	stop()
	if text := errout.String(); strings.Contains(text, "password of") || strings.Contains(text, "secret") {
		t.Errorf("a password is in the log:\n%s", text)
	}
}

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// awaitOK waits until an address answers 200.
func awaitOK(t *testing.T, url string) {
	t.Helper()
	until(t, url+" says that all is well", func() bool {
		res, err := http.Get(url) //nolint:noctx // a test's own server
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// start runs the role until the returned function is called, and returns its URL.
func (r secured) start(t *testing.T) (url string, stop func() int) {
	t.Helper()
	_, errout, stop := background(t, append(r.args, "--listen", "127.0.0.1:0")...)
	errout.Await(t, "node started")
	return "http://" + listenAt.FindStringSubmatch(errout.String())[1], stop
}

var redisUser = regexp.MustCompile(`(?m)^ACL SETUSER .*$`)

// redisUsers makes the users of docs/redis.md.
func redisUsers(t *testing.T, s *testkit.Secured) {
	t.Helper()
	for _, line := range redisUser.FindAllString(document(t, "docs/redis.md"), -1) {
		var args []any
		for _, f := range strings.Fields(line) {
			args = append(args, f)
		}
		if err := s.Redis.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

// redisPassword is a file with that of all of them.
func redisPassword(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "redis-password")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
