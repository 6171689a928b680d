package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/reread"
)

// PeerTLS sets the certificates with which nodes prove to each other that they are nodes. Every
// certificate of the authorities in CAFile counts as a node's.
type PeerTLS struct {
	CertFile, KeyFile string // PEM files of this node's certificate and its key
	CAFile            string // PEM file of the authorities that sign only certificates of nodes
}

// Set reports whether any field is set.
func (p PeerTLS) Set() bool { return p != PeerTLS{} }

// Apply adds the certificates to the configurations of a listener and of calls to other nodes.
// listener may be nil, for a node that others do not call. Apply returns peers, or if that is nil,
// a new one that trusts CAFile for other nodes' certificates. It uses new files without a restart,
// like ServedTLS.
func (p PeerTLS) Apply(listener, peers *tls.Config, log *slog.Logger) (*tls.Config, error) {
	if p.CertFile == "" || p.KeyFile == "" || p.CAFile == "" {
		return nil, errors.New("a node proves its identity with a certificate, its key and the certificate authorities of all " +
			"nodes: name all three files")
	}
	pair := &served{certFile: p.CertFile, keyFile: p.KeyFile, log: log, now: time.Now}
	if err := pair.load(); err != nil {
		return nil, err
	}
	pool := &authorities{file: p.CAFile, log: log, now: time.Now}
	if err := pool.load(); err != nil {
		return nil, err
	}
	if peers == nil {
		peers = &tls.Config{MinVersion: tls.VersionTLS12}
		// The authorities may change, but RootCAs cannot, so VerifyConnection does the same
		// verification.
		peers.InsecureSkipVerify = true //nolint:gosec // VerifyConnection verifies
		peers.VerifyConnection = func(s tls.ConnectionState) error {
			return guard.Err("verifying another node", func() error { return pool.verifyServer(s) })
		}
	} else {
		peers = peers.Clone()
	}
	peers.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.get(nil) }
	if listener != nil {
		base := listener.Clone()
		listener.ClientAuth, listener.ClientCAs = tls.VerifyClientCertIfGiven, pool.current()
		listener.GetConfigForClient = func(*tls.ClientHelloInfo) (_ *tls.Config, err error) {
			defer guard.Recover("asking for a node's certificate", &err)
			c := base.Clone()
			c.NextProtos = listener.NextProtos // the protocols of the HTTP server
			c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, pool.current()
			return c, nil
		}
	}
	return peers, nil
}

// authorities are the certificate authorities of a file that may change.
type authorities struct {
	file string
	log  *slog.Logger
	now  func() time.Time

	mu    sync.Mutex
	files reread.Files
	pool  *x509.CertPool
}

func (a *authorities) load() error {
	a.files.Begin(a.now(), a.file)
	pem, err := os.ReadFile(a.file)
	if err != nil {
		return fmt.Errorf("certificates of authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("certificates of authorities: %s has no certificate in PEM form", a.file)
	}
	a.pool = pool
	return nil
}

// current returns the current authorities. While the file cannot be used, the last ones stay valid.
func (a *authorities) current() *x509.CertPool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.files.Look(a.now()) && a.files.Changed() {
		err := a.load()
		if a.files.Read(err) {
			a.log.Error("the certificate authorities of the nodes cannot be read again, and the previous ones stay in use", "err", err)
		} else if err == nil {
			a.log.Info("the certificate authorities of the nodes were read again", "file", a.file)
		}
	}
	return a.pool
}

// verifyServer does what crypto/tls does with RootCAs.
func (a *authorities) verifyServer(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the other node presents no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: a.current(), Intermediates: between, DNSName: s.ServerName})
	return err
}
