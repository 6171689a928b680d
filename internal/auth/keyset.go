package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/go-jose/go-jose/v4"
)

const (
	// maxKeys bounds a key set, maxKeyBytes its text.
	maxKeys     = 100
	maxKeyBytes = 1 << 20
	// minSecret is the least length of an HMAC secret, minRSA of an RSA modulus in bits.
	minSecret = 32
	minRSA    = 2048
)

// key is a key and what it takes.
type key struct {
	id        string
	algorithm jose.SignatureAlgorithm
	material  any
}

func fetch(ctx context.Context, u *url.URL) ([]key, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("keys at %s: %w", u.Redacted(), err)
	}
	client := &http.Client{
		Timeout: fetchTimeout,
		// An answer that leads elsewhere could lead anywhere.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects: name the address it leads to")
		},
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("keys at %s: %w", u.Redacted(), err)
	}
	defer func() { _ = res.Body.Close() }() // it was read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxKeyBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("keys at %s: %w", u.Redacted(), err)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("keys at %s: status %d", u.Redacted(), res.StatusCode)
	case len(body) > maxKeyBytes:
		return nil, fmt.Errorf("keys at %s: more than %d bytes", u.Redacted(), maxKeyBytes)
	}
	keys, err := parseJWKS(body)
	if err != nil {
		return nil, fmt.Errorf("keys at %s: %w", u.Redacted(), err)
	}
	return keys, nil
}

func readFile(name string) ([]key, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	keys, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("keys in %s: %w", name, err)
	}
	return keys, nil
}

// parse reads a JWKS, PEM, or a secret.
func parse(b []byte) ([]key, error) {
	if len(b) > maxKeyBytes {
		return nil, fmt.Errorf("more than %d bytes", maxKeyBytes)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(b, &object) == nil {
		return parseJWKS(b)
	}
	if block, _ := pem.Decode(b); block != nil {
		return parsePEM(b)
	}
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	k, err := newKey("", b)
	if err != nil {
		return nil, err
	}
	return []key{k}, nil
}

func parseJWKS(b []byte) ([]key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, errors.New("no JSON Web Key Set")
	}
	if len(set.Keys) == 0 || len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys, want 1 to %d", len(set.Keys), maxKeys)
	}
	var (
		keys []key
		last error
	)
	for i, raw := range set.Keys {
		var j jose.JSONWebKey
		if err := j.UnmarshalJSON(raw); err != nil {
			last = fmt.Errorf("keys[%d] is no key of a kind that is known here", i)
			continue // sets also have keys for other uses
		}
		if j.Use != "" && j.Use != "sig" {
			continue
		}
		k, err := newKey(j.KeyID, j.Key)
		switch {
		case err != nil:
			last = fmt.Errorf("keys[%d]: %w", i, err)
		case j.Algorithm != "" && j.Algorithm != string(k.algorithm):
			last = fmt.Errorf("keys[%d]: alg %.20q is none of %v for its type", i, j.Algorithm, algorithms)
		default:
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("no key can be used: %w", last)
	}
	return keys, nil
}

func parsePEM(b []byte) ([]key, error) {
	var keys []key
	for {
		block, rest := pem.Decode(b)
		if block == nil {
			break
		}
		b = rest
		if block.Type != "PUBLIC KEY" {
			return nil, fmt.Errorf("PEM block %.40q: only PUBLIC KEY is read; a private key has no place at a node that verifies", block.Type)
		}
		material, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("PEM block: %w", err)
		}
		k, err := newKey(block.Headers["kid"], material)
		if err != nil {
			return nil, err
		}
		if keys = append(keys, k); len(keys) > maxKeys {
			return nil, fmt.Errorf("more than %d keys", maxKeys)
		}
	}
	return keys, nil
}

// newKey says what a key is good for, by its type alone.
func newKey(id string, material any) (key, error) {
	switch m := material.(type) {
	case []byte:
		if len(m) < minSecret {
			return key{}, fmt.Errorf("a secret for HS256 has at least %d bytes, this one has %d", minSecret, len(m))
		}
		return key{id, jose.HS256, m}, nil
	case *rsa.PublicKey:
		if m.N.BitLen() < minRSA {
			return key{}, fmt.Errorf("an RSA key has at least %d bits, this one has %d", minRSA, m.N.BitLen())
		}
		return key{id, jose.RS256, m}, nil
	case *ecdsa.PublicKey:
		if m.Curve != elliptic.P256() {
			return key{}, errors.New("a key for ES256 is on curve P-256")
		}
		return key{id, jose.ES256, m}, nil
	case ed25519.PublicKey:
		return key{id, jose.EdDSA, m}, nil
	}
	return key{}, errors.New("neither a secret nor a public key of RSA, P-256 or Ed25519; a private key has no place here")
}
