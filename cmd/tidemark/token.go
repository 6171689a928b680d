package main

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/auth"
)

type tokenCmd struct {
	Subject  string        `arg:"" name:"user" help:"The user of the token, or the name of a service."`
	Key      string        `required:"" placeholder:"FILE" help:"File with the key to sign with: a secret of 32 bytes or more, a private key in PEM, or a private JWK."`
	Issuer   string        `required:"" placeholder:"NAME" help:"Issuer: the nodes' --auth-issuer."`
	Audience string        `default:"tidemark" placeholder:"NAME" help:"Audience: the nodes' --auth-audience (${default})."`
	Scope    []string      `enum:"read,publish,erase,admin,service" placeholder:"SCOPE" help:"What the token allows in addition to the user's own calls: read, publish, erase, admin, or service for all of them. By default nothing."`
	For      time.Duration `default:"1h" placeholder:"DURATION" help:"How long it is valid (${default})."`
}

func (tokenCmd) Help() string {
	return `
Prints a token (JWT) for the callers of a node with --auth-keys, signed with your own key: for tests, operators and services.
Users' tokens come from your login. A node needs the public half of the key that signs the token; a secret is both halves. The key
decides the algorithm: HS256, RS256, ES256 or EdDSA.

Example:

    openssl rand -hex 32 > key
    tidemark token ann --key key --issuer demo > ann.token
    tidemark token backups --key key --issuer demo --scope read,admin --for 720h > backups.token`
}

// Run prints the token.
func (c *tokenCmd) Run(a *verbs.App) error {
	switch {
	case c.Subject == "":
		return verbs.Usagef("name the user of the token")
	case c.For <= 0:
		return verbs.Usagef("--for %s: it must be above 0", c.For)
	}
	now := time.Now()
	token, err := auth.Sign(c.Key, auth.Claims{
		Subject: c.Subject, Scopes: auth.ParseScopes(strings.Join(c.Scope, " ")), Issuer: c.Issuer, Audience: c.Audience,
		ID: rand.Text(), Issued: now, Expires: now.Add(c.For),
	})
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	_, err = fmt.Fprintln(a.Stdout, token)
	return err
}
