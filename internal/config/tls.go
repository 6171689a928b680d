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

// TLS configures a client of TLS 1.2 or newer. The zero value trusts the system's authorities.
type TLS struct {
	CAFile     string // PEM file of the authorities to trust instead of the system's
	CertFile   string // PEM file of the client's certificate, if the server requires one
	KeyFile    string // PEM file of its key
	ServerName string // required name in the server's certificate; empty: the name in the address
}

// Config reads the files. Errors name the file and its problem.
func (t TLS) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("certificates of authorities: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificates of authorities: %s has no certificate in PEM form", t.CAFile)
		}
	}
	switch {
	case t.CertFile != "" && t.KeyFile != "":
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s with key %s: %w", t.CertFile, t.KeyFile, err)
		}
		c.Certificates = []tls.Certificate{pair}
	case t.CertFile != "" || t.KeyFile != "":
		return nil, errors.New("a client certificate needs its key, and a key its certificate: name both files")
	}
	return c, nil
}

// ServedTLS is the configuration of a listener that serves the certificate in two PEM files. It
// checks the files when clients connect, at most once a second, and uses new ones without a
// restart. While they cannot be read or do not match, as in the middle of a replacement, it keeps
// the last ones and logs that.
func ServedTLS(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("TLS needs a certificate and its key: name both files")
	}
	s := &served{certFile: certFile, keyFile: keyFile, log: log, now: time.Now}
	if err := s.load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.get}, nil
}

type served struct {
	certFile, keyFile string
	log               *slog.Logger
	now               func() time.Time

	mu    sync.Mutex
	files reread.Files
	pair  *tls.Certificate
}

func (s *served) load() error {
	s.files.Begin(s.now(), s.certFile, s.keyFile)
	pair, err := tls.LoadX509KeyPair(s.certFile, s.keyFile)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", s.certFile, s.keyFile, err)
	}
	s.pair = &pair
	return nil
}

// get is for crypto/tls, which calls it in goroutines of its own.
func (s *served) get(*tls.ClientHelloInfo) (_ *tls.Certificate, err error) {
	defer guard.Recover("presenting a certificate", &err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files.Look(s.now()) && s.files.Changed() {
		err := s.load()
		if s.files.Read(err) {
			s.log.Error("the new certificate cannot be used, and the old one stays in use", "error", err)
		} else if err == nil {
			s.log.Info("serving a new certificate", "file", s.certFile)
		}
	}
	return s.pair, nil
}
