package erasing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/erase"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

// app returns an App without a terminal, with what it prints.
func app(t *testing.T) (*verbs.App, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	return &verbs.App{Ctx: t.Context(), Name: "tidemark", Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: io.Discard, Given: map[string]bool{}}, &out
}

// command returns a command whose flags are valid. Nothing answers at its addresses.
func command() Cmd {
	c := Cmd{User: "ann", Wait: time.Second}
	c.Addr, c.Redis, c.Brokers = "http://127.0.0.1:1", "redis://127.0.0.1:1", []string{"127.0.0.1:1"}
	return c
}

// keyFile writes a new key for certificates, as openssl does.
func keyFile(t *testing.T) (name string, key ed25519.PrivateKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name, key
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *Cmd)
		want   string // part of the error; empty: none
	}{
		{"plain", func(*Cmd) {}, ""},
		{"channels", func(c *Cmd) { c.Channel = []string{"general", "town hall"} }, ""},
		{"a certificate", func(c *Cmd) { c.Certificate, c.CertificateKey = "a.json", "key.pem" }, ""},
		{"a scan", func(c *Cmd) { c.Scan, c.CertificateKey = "a.json", "key.pem" }, ""},
		{"a user with a line break", func(c *Cmd) { c.User = "a\nb" }, `"a\nb" is not an id`},
		{"a user that is too long", func(c *Cmd) { c.User = strings.Repeat("a", 300) }, "is not an id"},
		{"a channel without a name", func(c *Cmd) { c.Channel = []string{""} }, `"" is not an id`},
		{"a certificate without a key", func(c *Cmd) { c.Certificate = "a.json" }, "need --certificate-key"},
		{"a scan without a key", func(c *Cmd) { c.Scan = "a.json" }, "need --certificate-key"},
		{"a dry run with a certificate", func(c *Cmd) { c.Certificate, c.CertificateKey, c.DryRun = "a.json", "key.pem", true }, "--dry-run erases nothing"},
		{"a dry scan", func(c *Cmd) { c.Scan, c.CertificateKey, c.DryRun = "a.json", "key.pem", true }, "--dry-run erases nothing"},
		{"a scan of one channel", func(c *Cmd) { c.Scan, c.CertificateKey, c.Channel = "a.json", "key.pem", []string{"general"} }, "leave out --channel"},
		{"no patience", func(c *Cmd) { c.Wait = 0 }, "--wait 0s: it must be above 0"},
		{"no URL", func(c *Cmd) { c.Addr = "nowhere" }, `"nowhere" is not the URL of a node`},
	} {
		cmd := command()
		c.change(&cmd)
		if err := cmd.Validate(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestAsksBeforeItErases: without a terminal and --yes the command ends before it calls anybody,
// and says what it would do. A dry run and a scan erase nothing, so they do not ask.
func TestAsksBeforeItErases(t *testing.T) {
	a, _ := app(t)
	c := command()
	c.User = "ann\x1b[2J"
	var usage verbs.UsageError
	err := c.Run(a)
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "in every channel, for good") || !strings.Contains(err.Error(), "--yes") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("erasing: %v", err)
	}
	c.Channel = []string{"general", "town"}
	if err := c.Run(a); !errors.As(err, &usage) || !strings.Contains(err.Error(), "in 2 channels, for good") {
		t.Errorf("erasing in two channels: %v", err)
	}
	c = command()
	c.DryRun = true
	if err := c.Run(a); err == nil || errors.As(err, &usage) || !strings.Contains(err.Error(), "name it with --redis, or leave it out with --no-redis") {
		t.Errorf("a dry run without Redis: %v", err)
	}
}

// TestCertificateKeyComesFirst: whatever is wrong with the files of a certificate ends the command
// before anything is erased, even before it asks.
func TestCertificateKeyComesFirst(t *testing.T) {
	if key, err := (&Cmd{}).certificateKey(); key != nil || err != nil {
		t.Errorf("without a certificate: %v, %v", key, err)
	}
	name, key := keyFile(t)
	there := filepath.Join(t.TempDir(), "there.json")
	if err := os.WriteFile(there, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := command()
	c.Certificate, c.CertificateKey = filepath.Join(t.TempDir(), "new.json"), name
	if got, err := c.certificateKey(); err != nil || !got.Equal(key) {
		t.Errorf("a key in a file: %v", err)
	}
	for _, wrong := range []struct{ certificate, key, want string }{
		{there, name, "exists: name a file that does not"},
		{c.Certificate, there, "has no private key in PEM"},
		{c.Certificate, there + "-none", "no such file"},
	} {
		a, _ := app(t)
		c.Certificate, c.CertificateKey = wrong.certificate, wrong.key
		if err := c.Run(a); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

// TestScanReadsItsCertificateFirst: a certificate that was changed, or that another key has signed,
// ends a scan before it looks for anything.
func TestScanReadsItsCertificateFirst(t *testing.T) {
	_, key := keyFile(t)
	_, other := keyFile(t)
	file := filepath.Join(t.TempDir(), "first.json")
	res := &erase.Result{User: "ann"}
	if err := res.Certificate(time.Unix(0, 0)).Write(file, key); err != nil {
		t.Fatal(err)
	}
	c := command()
	c.Scan = file
	a, out := app(t)
	if err := c.scan(a, erase.Config{User: "ann"}, other); err == nil || !strings.Contains(err.Error(), "was not signed with this key") {
		t.Errorf("another key: %v", err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(b, []byte("ann"), []byte("bob"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.scan(a, erase.Config{User: "ann"}, key); err == nil || !strings.Contains(err.Error(), "was changed after it was signed") {
		t.Errorf("another user: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("it prints %q", out)
	}
}

func TestPrint(t *testing.T) {
	until := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	remains := []erase.Remains{{Where: "topic chat.reads", For: "7 days", What: "what they read"}, {Where: "snapshot 3", Until: &until, What: "a copy"}}
	for _, c := range []struct {
		name      string
		res       erase.Result
		want, not []string
	}{
		{"nobody", erase.Result{User: "ann\x1b[2J", Remains: remains}, []string{"no channel holds anything about this user", "What remains:", "7 days", "until 2026-12-01 08:00 UTC"}, []string{"\x1b", "Redis"}},
		{"a dry run", erase.Result{User: "ann", DryRun: true, Left: 1, Erased: 2, Already: 1, Channels: []erase.Channel{{ChannelID: "town", Member: true}, {ChannelID: "old", Done: true}}},
			[]string{"town     yes", "old      no      erased already", "ann would leave 1 channel and be erased in 2; 1 hold nothing about them any more. Nothing was written."}, []string{"All events are folded"}},
		{"an erasure", erase.Result{User: "ann", Left: 2, Erased: 2, Channels: []erase.Channel{{ChannelID: "town"}}, Redis: &erase.Cached{Waited: true, Removed: 3}},
			[]string{"ann left 2 channels and was erased in 2; 0 held nothing about them any more. All events are folded.", "the cache role has removed its keys; 3 other keys"}, []string{"Nothing was written"}},
		{"a cache that is behind", erase.Result{User: "ann", Channels: []erase.Channel{{ChannelID: "town"}}, Redis: &erase.Cached{}}, []string{"the cache role did not follow in time"}, nil},
	} {
		a, out := app(t)
		if err := (&Cmd{}).print(a, &c.res); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, out)
			}
		}
		for _, not := range c.not {
			if strings.Contains(out.String(), not) {
				t.Errorf("%s: %q is in\n%s", c.name, not, out)
			}
		}
	}
}
