package chaos

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// listensAt finds a node's address in its log.
var listensAt = regexp.MustCompile(`listen=(\S+)`)

// secured starts a real node that serves with a certificate of one authority and accepts nodes with
// certificates of another. It returns the node's URL and log.
func secured(t *testing.T, of, nodes *testkit.Authority, args ...string) (url string, log func() string) {
	t.Helper()
	dir := t.TempDir()
	cert, key := of.Issue(t, dir, "a node")
	ca := testkit.FileOf(t, filepath.Join(dir, "ca.pem"), nodes)
	file, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := command(t, slices.Concat([]string{"run", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"), "--memory", "256MiB",
		"--tls-cert", cert, "--tls-key", key, "--tls-ca", ca, "--peer-cert", cert, "--peer-key", key, "--peer-ca", ca}, args)...)
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, cmd) })
	log = func() string {
		b, err := os.ReadFile(file.Name())
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	await(t, func() error {
		at := listensAt.FindStringSubmatch(log())
		if at == nil {
			return fmt.Errorf("it does not say where it listens:\n%s", log())
		}
		url = "https://" + at[1]
		return nil
	})
	return url, log
}

func end(t *testing.T, cmd *exec.Cmd) {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	killer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // Wait then returns an error
	defer killer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("a node ended with %v", err)
	}
}

// await calls try until it succeeds.
func await(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// trusting returns a client that trusts an authority and presents no certificate.
func trusting(t *testing.T, a *testkit.Authority) *http.Client {
	c := &tls.Config{RootCAs: x509.NewCertPool()} //nolint:gosec // TLS 1.2 at least by default
	c.RootCAs.AppendCertsFromPEM(a.PEM)
	transport := &http.Transport{TLSClientConfig: c}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

func askAs(ctx context.Context, by *http.Client, url, token, body string) (status int, text string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := by.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(b)
}

// TestPeerFlags: real nodes with --peer-cert, --peer-key and --peer-ca forward calls to each other
// over TLS. A node with a certificate of another authority is refused, logs why, and answers its
// caller without data.
func TestPeerFlags(t *testing.T) {
	brokers := strings.Join(testkit.FakeKafka(t).ListenAddrs(), ",")
	create := command(t, "topics", "create", "--brokers", brokers, "--partitions", "2", "--replication-factor", "1")
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, bytes.TrimSpace(out))
	}
	nodes, strangers := testkit.NewAuthority(t, "nodes"), testkit.NewAuthority(t, "strangers")
	common := []string{"--brokers", brokers, "--auth-keys", authtest.KeyFile(t), "--auth-issuer", authtest.Issuer}
	owner, _ := secured(t, nodes, nodes, append(common, "--roles", "processor,query")...)
	honest, _ := secured(t, nodes, nodes, append(common, "--roles", "query")...)
	stranger, strangerLog := secured(t, strangers, nodes, append(common, "--roles", "query")...)

	const (
		publish = "/tidemark.ingest.v1.IngestService/Publish"
		unread  = "/tidemark.query.v1.QueryService/GetUnread"
		events  = `{"events":[{"message":{"channel_id":"general","members_joined":{"user_ids":["ann","bob"]}}},` +
			`{"message":{"channel_id":"general","message_posted":{"message_id":"m1","sender_id":"bob","preview":"hi"}}}]}`
		question = `{"channel_id":"general"}`
	)
	client, ann := trusting(t, nodes), authtest.Token(t, "ann", time.Hour)
	await(t, func() error {
		if status, text := askAs(t.Context(), client, owner+publish, authtest.Service(t), events); status != http.StatusOK {
			return fmt.Errorf("publish: %d %s", status, text)
		}
		return nil
	})
	for name, url := range map[string]string{"the owner": owner, "a node that forwards": honest} {
		await(t, func() error {
			if status, text := askAs(t.Context(), client, url+unread, ann, question); status != http.StatusOK || !strings.Contains(text, `"unread":1`) {
				return fmt.Errorf("%s: %d %s", name, status, text)
			}
			return nil
		})
	}
	await(t, func() error { // at first it may not know the owner
		status, text := askAs(t.Context(), trusting(t, strangers), stranger+unread, ann, question)
		if status == http.StatusOK || strings.Contains(text, "unread") {
			t.Fatalf("a stranger's query is answered: %d %s", status, text)
		}
		if status != http.StatusServiceUnavailable || !strings.Contains(text, "do not trust each other's certificates") {
			return fmt.Errorf("a stranger: %d %s", status, text)
		}
		return nil
	})
	await(t, func() error { // a call that waited for another call's connection does not get its error
		askAs(t.Context(), trusting(t, strangers), stranger+unread, ann, question)
		if message := strangerLog(); !strings.Contains(message, "tls: ") {
			return fmt.Errorf("the stranger does not say why:\n%s", message)
		}
		return nil
	})
}
