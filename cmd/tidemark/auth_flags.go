package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/tidemark/tidemark/internal/auth"
)

// authFlags say whose tokens are valid.
type authFlags struct {
	AuthKeys         string   `name:"auth-keys" placeholder:"FILE|URL" help:"Keys of the tokens that callers send: a JWKS, public keys in PEM or a secret of 32 bytes or more in a file, or the https address of a JWKS. Without, there are no tokens."`
	AuthIssuer       string   `placeholder:"NAME" help:"Who issues the tokens: their iss has to be this."`
	AuthAudience     string   `default:"tidemark" placeholder:"NAME" help:"Their aud has to contain this (${default})."`
	ServiceTokenFile string   `placeholder:"FILE" help:"File with a token of scope service, for what a gateway asks other nodes on its own account."`
	Origins          []string `placeholder:"ORIGIN" help:"Pages that may open sockets, as browsers name them: https://chat.example.com. Without: only those of this very host."`
}

// verifier judges tokens; nil without keys.
func (f *authFlags) verifier(ctx context.Context, log *slog.Logger) (*auth.Verifier, error) {
	for _, o := range f.Origins {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o {
			return nil, usagef("--origins %q: want scheme and host, without a path, such as https://chat.example.com", o)
		}
	}
	if f.AuthKeys == "" {
		if f.AuthIssuer != "" {
			return nil, usagef("--auth-issuer without --auth-keys: nobody could verify a token")
		}
		return nil, nil
	}
	if f.AuthIssuer == "" {
		return nil, usagef("--auth-keys needs --auth-issuer: without, a token that the same keys signed for another service would do")
	}
	keys, err := auth.Open(ctx, f.AuthKeys, func(err error) { log.Warn("keys", "err", err) })
	if err != nil {
		return nil, fmt.Errorf("--auth-keys: %w", err)
	}
	return auth.NewVerifier(auth.Config{Keys: keys, Issuer: f.AuthIssuer, Audience: f.AuthAudience})
}

// serviceToken reads the node's own token; empty if there is none.
func (f *authFlags) serviceToken() (string, error) {
	if f.ServiceTokenFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(f.ServiceTokenFile)
	if err != nil {
		return "", fmt.Errorf("--service-token-file: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
