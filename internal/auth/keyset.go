package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
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

// key is a key with its id and its algorithms.
type key struct {
	id        string
	algorithm jose.SignatureAlgorithm
	material  any
	print     fingerprint
}

// fingerprint identifies a key by its content, whatever its id.
type fingerprint [sha256.Size]byte

func printOf(material any) (fingerprint, error) {
	if secret, ok := material.([]byte); ok {
		return sha256.Sum256(append([]byte("secret "), secret...)), nil
	}
	der, err := x509.MarshalPKIXPublicKey(material)
	return sha256.Sum256(der), err
}

func fetchKeys(ctx context.Context, u *url.URL) ([]key, error) {
	body, err := fetch(ctx, u, maxKeyBytes)
	if err == nil {
		var keys []key
		if keys, err = parseJWKS(body); err == nil {
			return keys, nil
		}
	}
	return nil, fmt.Errorf("keys at %s: %w", u.Redacted(), err)
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
		return nil, errors.New("not a JSON Web Key Set")
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
			last = fmt.Errorf("keys[%d] is of an unknown kind", i)
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
			last = fmt.Errorf("keys[%d]: alg %.20q is not one of %v, which fit its type", i, j.Algorithm, algorithms)
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
			return nil, fmt.Errorf("PEM block %.40q: only PUBLIC KEY is read; a node that verifies tokens must not have a private key", block.Type)
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

// newKey determines the algorithms of a key.
func newKey(id string, material any) (key, error) {
	algorithm, err := algorithmOf(material)
	if err != nil {
		return key{}, err
	}
	p, err := printOf(material)
	return key{id, algorithm, material, p}, err
}

// algorithmOf returns the algorithm of a key, only by its type.
func algorithmOf(material any) (jose.SignatureAlgorithm, error) {
	switch m := material.(type) {
	case []byte:
		if len(m) < minSecret {
			return "", fmt.Errorf("a secret for HS256 needs at least %d bytes, this one has %d", minSecret, len(m))
		}
		return jose.HS256, nil
	case *rsa.PublicKey:
		if m.N.BitLen() < minRSA {
			return "", fmt.Errorf("an RSA key needs at least %d bits, this one has %d", minRSA, m.N.BitLen())
		}
		return jose.RS256, nil
	case *ecdsa.PublicKey:
		if m.Curve != elliptic.P256() {
			return "", errors.New("a key for ES256 must be on curve P-256")
		}
		return jose.ES256, nil
	case ed25519.PublicKey:
		return jose.EdDSA, nil
	}
	return "", errors.New("neither a secret nor a public key of RSA, P-256 or Ed25519; a node must not have a private key")
}
