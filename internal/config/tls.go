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
)

// TLS says how to talk to a server by TLS 1.2 or newer. The zero value trusts the system's authorities.
type TLS struct {
	CAFile     string // PEM file of the authorities to trust instead of the system's
	CertFile   string // PEM file of the client's certificate, if the server wants one
	KeyFile    string // and of its key
	ServerName string // name that the server's certificate must have; empty: that of its address
}

// Config reads the files. Errors name the file and what is wrong with it.
func (t TLS) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("certificates of authorities: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificates of authorities: %s has none in PEM form", t.CAFile)
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

// certificateCheck is how often the files of a served certificate are looked at.
const certificateCheck = time.Second

// ServedTLS is the configuration of a listener that serves the certificate in two PEM files. It looks at the files when
// clients connect, at most once a second, and takes new ones without a restart; while they cannot be read or do not fit,
// as in the middle of being replaced, it goes on with those it has and says so in the log.
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

	mu      sync.Mutex
	checked time.Time
	seen    [2]os.FileInfo // the files, just before they were tried last
	trouble error          // why they are not served; nil: they are
	pair    *tls.Certificate
}

func (s *served) load() error {
	s.checked = s.now()
	s.seen = s.look()
	pair, err := tls.LoadX509KeyPair(s.certFile, s.keyFile)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", s.certFile, s.keyFile, err)
	}
	s.pair = &pair
	return nil
}

// look is what the files are now; nil for one that cannot be looked at.
func (s *served) look() (files [2]os.FileInfo) {
	for i, name := range []string{s.certFile, s.keyFile} {
		files[i], _ = os.Stat(name) // reading it says what is wrong
	}
	return files
}

// changed reports whether a file is another one than that which was tried last, as far as that shows.
func (s *served) changed() bool {
	for i, now := range s.look() {
		was := s.seen[i]
		if (now == nil) != (was == nil) {
			return true
		}
		if now != nil && (!os.SameFile(now, was) || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime())) {
			return true
		}
	}
	return false
}

func (s *served) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.checked) >= certificateCheck {
		s.checked = s.now()
		// Files that did not fit are tried again though they look the same: what ended their replacing may not show.
		if s.changed() || s.trouble != nil {
			err := s.load()
			switch {
			case err == nil:
				s.log.Info("serving a new certificate", "file", s.certFile)
			case s.trouble == nil || s.trouble.Error() != err.Error():
				s.log.Error("the new certificate is not served, the old one is", "error", err)
			}
			s.trouble = err
		}
	}
	return s.pair, nil
}
