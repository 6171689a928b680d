package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A gateway whose service token has expired is not ready, and says why; it is ready again once the
// file has another.
func TestAGatewayWhoseServiceTokenExpires(t *testing.T) {
	brokers := strings.Join(testkit.FakeKafka(t).ListenAddrs(), ",")
	redis := "redis://" + testkit.Miniredis(t).Addr()
	ok(t, "", "topics", "create", "--brokers", brokers, "--partitions", "1", "--replication-factor", "1")
	file := filepath.Join(t.TempDir(), "token")
	testkit.Replace(t, file, []byte(authtest.ServiceFor(t, 35*time.Second))) // it counts as expired 30 s early, for others' clocks
	_, errout, stop := background(t, "gateway", "--brokers", brokers, "--redis", redis, "--listen", "127.0.0.1:0",
		"--auth-keys", authtest.KeyFile(t), "--auth-issuer", authtest.Issuer, "--service-token-file", file)
	errout.Await(t, "node started")
	url := "http://" + listenAt.FindStringSubmatch(errout.String())[1]
	readyz := func() (int, string) {
		res, err := http.Get(url + "/readyz") //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	awaitOK(t, url+"/readyz")
	for _, broken := range []struct {
		token func() string
		want  string
	}{
		{func() string { return "" }, "has expired: put a new one there, which is read at once"},
		{func() string { return authtest.Token(t, "ann", time.Hour) }, "does not have the scope service"},
		{func() string { return "nonsense" }, "the token is not valid"},
	} {
		if token := broken.token(); token != "" {
			testkit.Replace(t, file, []byte(token))
		}
		until(t, "/readyz says "+broken.want, func() bool {
			status, text := readyz()
			return status == http.StatusServiceUnavailable && strings.Contains(text, "gateway: the service token in "+file) && strings.Contains(text, broken.want)
		})
		testkit.Replace(t, file, []byte(authtest.Service(t)+"\n"))
		awaitOK(t, url+"/readyz")
	}
	if code := stop(); code != exitDone || strings.Contains(errout.String(), "eyJ") {
		t.Errorf("exit %d\n%s", code, errout)
	}
}
