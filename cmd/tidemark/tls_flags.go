package main

import (
	"crypto/tls"
	"log/slog"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/config"
)

// tlsFlags are the flags of a node's listener.
type tlsFlags struct {
	TLSCert string `name:"tls-cert" placeholder:"FILE" help:"PEM file of the certificate to serve with, followed by its intermediate certificates; a new one is read without a restart."`
	TLSKey  string `name:"tls-key" placeholder:"FILE" help:"PEM file of its key."`
	TLSCA   string `name:"tls-ca" placeholder:"FILE" help:"PEM file of the authorities that sign the certificates of other nodes; by default the system's."`
}

// tls returns the configurations of the listener and of calls to other nodes; nil without the flags
// of one.
func (f tlsFlags) tls(certs config.PeerTLS, log *slog.Logger) (served, peers *tls.Config, err error) {
	if f.TLSCert != "" || f.TLSKey != "" {
		if served, err = config.ServedTLS(f.TLSCert, f.TLSKey, log); err != nil {
			return nil, nil, verbs.Usagef("--tls-cert, --tls-key: %v", err)
		}
	}
	if f.TLSCA != "" {
		if peers, err = (config.TLS{CAFile: f.TLSCA}).Config(); err != nil {
			return nil, nil, verbs.Usagef("--tls-ca: %v", err)
		}
	}
	if certs.Set() {
		if peers, err = certs.Apply(served, peers, log); err != nil {
			return nil, nil, verbs.Usagef("--peer-cert, --peer-key, --peer-ca: %v", err)
		}
	}
	return served, peers, nil
}
