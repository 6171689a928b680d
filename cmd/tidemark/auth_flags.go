package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/query"
)

// authFlags set the keys and claims by which tokens are valid.
type authFlags struct {
	AuthKeys         string `name:"auth-keys" placeholder:"FILE|URL" help:"Keys of the tokens that callers send: a JWKS, public keys in PEM or a secret of 32 bytes or more in a file, or the https address of a JWKS. Without it callers need no tokens."`
	AuthIssuer       string `placeholder:"NAME" help:"Issuer of the tokens: their iss must be this."`
	AuthAudience     string `default:"tidemark" placeholder:"NAME" help:"Audience of the tokens: their aud must contain this (${default})."`
	AuthRevoked      string `placeholder:"FILE|URL" help:"List of revoked users and tokens: lines sub:USER and jti:ID, in a file or at an https address. Tidemark reads it again when it changes, and ends their sockets and streams within a minute."`
	ServiceTokenFile string `placeholder:"FILE" help:"File with a token of scope service, with which a node calls other nodes if it has no --peer-secret-file and no --peer-cert. A renewed token is read at once."`
	peerFlags
	Origins []string `placeholder:"ORIGIN" help:"Origins of pages that may open sockets and call the query API, such as https://chat.example.com. By default only pages of this host."`
}

// guard returns the verifier of tokens, nil without keys. Without keys it refuses an address that
// other machines can reach, unless insecure is set.
func (f *authFlags) guard(ctx context.Context, log *slog.Logger, listen string, insecure bool) (*auth.Verifier, error) {
	v, err := f.verifier(ctx, log)
	if err != nil {
		return nil, err
	}
	if err := query.CheckListen(listen, insecure || v != nil); err != nil {
		return nil, verbs.Usagef("%v", err)
	}
	return v, nil
}

// verifier returns the verifier of tokens, nil without keys.
func (f *authFlags) verifier(ctx context.Context, log *slog.Logger) (*auth.Verifier, error) {
	if err := checkOrigins(f.Origins); err != nil {
		return nil, err
	}
	if f.AuthKeys == "" {
		if f.AuthIssuer != "" {
			return nil, verbs.Usagef("--auth-issuer needs --auth-keys: without keys, no token can be verified")
		}
		if f.AuthRevoked != "" {
			return nil, verbs.Usagef("--auth-revoked needs --auth-keys: without keys, there are no tokens to revoke")
		}
		return nil, nil
	}
	if f.AuthIssuer == "" {
		return nil, verbs.Usagef("--auth-keys needs --auth-issuer: without it, a token that the same keys signed for another service would be valid")
	}
	keys, err := auth.Open(ctx, f.AuthKeys, func(err error) { log.Warn("keys", "err", err) })
	if err != nil {
		return nil, fmt.Errorf("--auth-keys: %w", err)
	}
	var revoked *auth.Revoked
	if f.AuthRevoked != "" {
		if revoked, err = auth.OpenRevoked(ctx, f.AuthRevoked, func(err error) { log.Error("revoked tokens", "err", err) }); err != nil {
			return nil, fmt.Errorf("--auth-revoked: %w", err)
		}
	}
	return auth.NewVerifier(auth.Config{Keys: keys, Revoked: revoked, Issuer: f.AuthIssuer, Audience: f.AuthAudience})
}

// checkOrigins refuses values that no browser sends as Origin.
func checkOrigins(list []string) error {
	for _, o := range list {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o {
			return verbs.Usagef("--origins %q: want scheme and host, without a path, such as https://chat.example.com", o)
		}
	}
	return nil
}

// peerFlags set how a node proves to other nodes that it is one.
type peerFlags struct {
	PeerSecretFile string `placeholder:"FILE" help:"File with a secret of 32 bytes or more that all nodes share, and that proves to other nodes that this is a node: openssl rand -base64 32. While you change the secret, further lines may have more valid ones. A changed file is read without a restart."`
	PeerCert       string `placeholder:"FILE" help:"PEM file of a certificate that proves to other nodes that this is a node; a new one is read without a restart."`
	PeerKey        string `placeholder:"FILE" help:"PEM file of its key."`
	PeerCA         string `name:"peer-ca" placeholder:"FILE" help:"PEM file of authorities that sign only certificates of nodes: anyone with a certificate from them counts as a node. Without --tls-ca, calls to other nodes trust them too."`
}

func (f *peerFlags) certificates() config.PeerTLS {
	return config.PeerTLS{CertFile: f.PeerCert, KeyFile: f.PeerKey, CAFile: f.PeerCA}
}

// peers returns the proofs that this node can give to others.
func (f *authFlags) peers(ctx context.Context, v *auth.Verifier, t *tls.Config, roles config.Roles, log *slog.Logger) (p peer.Proof, err error) {
	owner := roles.Has(config.RoleProcessor) // it owns partitions, which others query
	p.Certificates = f.certificates().Set()
	if p.Certificates && owner && t == nil {
		return p, verbs.Usagef("--peer-cert needs --tls-cert: nodes exchange their certificates by TLS, so this one has to serve with TLS " +
			"(--tls-cert, --tls-key), or use --peer-secret-file")
	}
	if f.PeerSecretFile != "" {
		if p.Secrets, err = peer.OpenSecrets(f.PeerSecretFile, log); err != nil {
			return p, fmt.Errorf("--peer-secret-file: %w", err)
		}
	}
	if f.ServiceTokenFile != "" {
		token, err := auth.OpenTokenFile(ctx, f.ServiceTokenFile, v, auth.ScopeService)
		if err != nil {
			return p, fmt.Errorf("--service-token-file: %w", err)
		}
		p.ServiceToken = token.Token
	}
	switch proves := p.Secrets != nil || p.Certificates; {
	case v == nil || proves:
	case p.ServiceToken != nil:
		log.Warn("the service token is sent to any address that a member of the group advertises: set --peer-secret-file, or " +
			"--peer-cert, --peer-key and --peer-ca, and nodes no longer need it")
	case !owner && roles.Has(config.RoleQuery):
		return p, verbs.Usagef("a node without partitions forwards every call, and this one has no proof for the other nodes: it never forwards a user's token. " +
			"Give all nodes the same --peer-secret-file, or --peer-cert, --peer-key and --peer-ca")
	}
	return p, nil
}
