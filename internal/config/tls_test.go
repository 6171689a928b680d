package config

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/reread"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// certificate writes a self-signed certificate for 127.0.0.1, and its key.
func certificate(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func serverConfig(t *testing.T, certFile, keyFile string) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

// TestKafkaByTLSAndSCRAM: a broker with TLS and SCRAM answers with the right authority, user and
// password. Without one of them it does not, and no error contains the password.
func TestKafkaByTLSAndSCRAM(t *testing.T) {
	certFile, keyFile := certificate(t, t.TempDir(), "broker")
	otherCA, _ := certificate(t, t.TempDir(), "another")
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(serverConfig(t, certFile, keyFile)), kfake.EnableSASL(),
		kfake.Superuser("SCRAM-SHA-512", "tidemark", "hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	right := KafkaSecurity{UseTLS: true, TLS: TLS{CAFile: certFile}, SASL: "scram-sha-512", User: "tidemark", Password: "hunter2"}
	connect := func(k KafkaSecurity) error {
		opts, err := k.Options()
		if err != nil {
			return err
		}
		cl, err := Kafka{Brokers: broker.ListenAddrs(), Options: opts}.Client(t.Context(), 3*time.Second, kgo.RetryTimeout(2*time.Second))
		if err == nil {
			cl.Close()
		}
		return err
	}
	if err := connect(right); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*KafkaSecurity){
		"another authority": func(k *KafkaSecurity) { k.TLS.CAFile = otherCA },
		"another password":  func(k *KafkaSecurity) { k.Password = "hunter3" },
		"no login":          func(k *KafkaSecurity) { k.SASL, k.User = "", "" },
	} {
		k := right
		change(&k)
		if err := connect(k); err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKafkaSecurityIsChecked(t *testing.T) {
	passwordFile := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(passwordFile, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if opts, err := (KafkaSecurity{SASL: "scram-sha-256", User: "u", PasswordFile: passwordFile}).Options(); err != nil || len(opts) != 1 {
		t.Errorf("a password from a file: %d options, %v", len(opts), err)
	}
	for want, k := range map[string]KafkaSecurity{
		"add --kafka-tls":            {TLS: TLS{CAFile: passwordFile}},
		"no certificate in PEM form": {UseTLS: true, TLS: TLS{CAFile: passwordFile}},
		"name both files":            {UseTLS: true, TLS: TLS{CertFile: passwordFile}},
		"in the clear":               {SASL: "plain", User: "u", Password: "p"},
		"TIDEMARK_KAFKA_PASSWOR":     {SASL: "scram-sha-512", User: "u"},
		"is not known":               {SASL: "gssapi", User: "u", Password: "p"},
		"add --kafka-sasl":           {User: "u"},
		"no such file":               {SASL: "scram-sha-512", User: "u", PasswordFile: passwordFile + "-not"},
	} {
		if _, err := k.Options(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func TestRedisByTLS(t *testing.T) {
	certFile, keyFile := certificate(t, t.TempDir(), "redis")
	otherCA, _ := certificate(t, t.TempDir(), "another")
	server := miniredis.NewMiniRedis()
	if err := server.StartTLS(serverConfig(t, certFile, keyFile)); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	server.RequireUserAuth("cache", "secret")
	ping := func(r Redis) error {
		o, err := r.Options()
		if err != nil {
			return err
		}
		cl := redis.NewClient(o)
		defer cl.Close()
		return cl.Ping(t.Context()).Err()
	}
	url := "rediss://cache:secret@" + server.Addr()
	if err := ping(Redis{URL: url, CAFile: certFile}); err != nil {
		t.Error(err)
	}
	if err := ping(Redis{URL: url, CAFile: otherCA}); err == nil {
		t.Error("a server that another authority vouches for was trusted")
	}
	if err := ping(Redis{URL: url}); err == nil {
		t.Error("a server that nobody vouches for was trusted")
	}
	if _, err := (Redis{URL: "redis://x", CAFile: certFile}).Options(); err == nil || !strings.Contains(err.Error(), "rediss://") {
		t.Errorf("an authority without TLS: %v", err)
	}
}

// TestServedCertificateIsReplaced: a new certificate is served without a restart, and half of a new
// one is not.
func TestServedCertificateIsReplaced(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := certificate(t, dir, "first")
	var log testkit.Output
	c, err := ServedTLS(certFile, keyFile, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{TLSConfig: c, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = srv.ServeTLS(ln, "", "") }() // ends with Close
	defer srv.Close()
	serves := func() string {
		t.Helper()
		conn, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	until := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); serves() != want; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%q is not served", want)
			}
		}
	}
	until("first")
	later := time.Now().Add(time.Minute)
	if err := os.WriteFile(keyFile, []byte("half of a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(keyFile, later, later); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(log.String(), "the old one stays in use"); time.Sleep(50 * time.Millisecond) {
		if got := serves(); got != "first" || time.Now().After(deadline) {
			t.Fatalf("%q is served; log: %s", got, log.String())
		}
	}
	certificate(t, dir, "second")
	for _, f := range []string{certFile, keyFile} {
		if err := os.Chtimes(f, later.Add(time.Minute), later.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	until("second")
	if _, err := ServedTLS(certFile, "", nil); err == nil {
		t.Error("a certificate without a key was taken")
	}
	if _, err := ServedTLS(certFile, keyFile+"-not", nil); err == nil || !strings.Contains(err.Error(), "-not") {
		t.Errorf("a missing key: %v", err)
	}
}

// The end of a file's replacement may be invisible: the file was read in between, and the rest was
// written within the resolution of its modification time. The certificate is served nevertheless,
// and the error is logged once instead of every second.
func TestServedCertificateIsTriedAgain(t *testing.T) {
	certFile, keyFile := certificate(t, t.TempDir(), "first")
	var log testkit.Output
	now := time.Now()
	s := &served{certFile: certFile, keyFile: keyFile, log: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now }}
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	newCert, newKey := certificate(t, t.TempDir(), "second")
	replace := func(file string, content []byte) {
		t.Helper()
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, now, now); err != nil {
			t.Fatal(err)
		}
	}
	serves := func() string {
		t.Helper()
		pair, err := s.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.Subject.CommonName
	}
	cert, key := content(t, newCert), content(t, newKey)
	half := bytes.Repeat([]byte{'\n'}, len(key))
	copy(half, key[:len(key)/2])
	replace(certFile, cert)
	replace(keyFile, half)
	written := now
	for range 3 {
		now = now.Add(reread.Every)
		if got := serves(); got != "first" {
			t.Errorf("with half of a key: %q is served", got)
		}
	}
	if n := strings.Count(log.String(), "the old one stays in use"); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
	now = written
	replace(keyFile, key)
	now = written.Add(5 * reread.Every)
	if got := serves(); got != "second" {
		t.Errorf("with a whole one that looks the same: %q is served", got)
	}
}

func content(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
