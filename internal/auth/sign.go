package auth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Claims are the content of a token that Sign makes.
type Claims struct {
	Subject  string
	Scopes   Scopes
	Issuer   string
	Audience string
	ID       string // empty: none
	Issued   time.Time
	Expires  time.Time
}

// Sign makes a token with the key of a file: a secret, a private key in PEM, or a private JWK. It
// is for operators and tests; users' tokens come from the product's own login.
func Sign(file string, c Claims) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	k, err := signingKey(b)
	if err != nil {
		return "", fmt.Errorf("the key in %s: %w", file, err)
	}
	s, err := jose.NewSigner(k, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("the key in %s: %w", file, err)
	}
	scope := struct {
		Scope string `json:"scope,omitempty"`
	}{c.Scopes.String()}
	return jwt.Signed(s).Claims(jwt.Claims{
		Subject: c.Subject, Issuer: c.Issuer, Audience: jwt.Audience{c.Audience}, ID: c.ID,
		IssuedAt: jwt.NewNumericDate(c.Issued), Expiry: jwt.NewNumericDate(c.Expires),
	}).Claims(scope).Serialize()
}

// signingKey reads a key to sign with. Its type decides the algorithm, as in verification.
func signingKey(b []byte) (jose.SigningKey, error) {
	if json.Valid(b) && bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		var j jose.JSONWebKey
		if err := j.UnmarshalJSON(b); err != nil {
			return jose.SigningKey{}, errors.New("it is not a private JSON Web Key")
		}
		k, err := signed(j.Key)
		k.Key = j // with its kid
		return k, err
	}
	if block, _ := pem.Decode(b); block != nil {
		private, err := parsePrivate(block)
		if err != nil {
			return jose.SigningKey{}, err
		}
		return signed(private)
	}
	secret := bytes.TrimRight(b, "\r\n")
	if len(secret) < minSecret {
		return jose.SigningKey{}, fmt.Errorf("a secret of %d bytes, want %d or more", len(secret), minSecret)
	}
	return signed(secret)
}

func parsePrivate(block *pem.Block) (crypto.PrivateKey, error) {
	switch block.Type {
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PRIVATE KEY":
		return x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	return nil, fmt.Errorf("%q is not a private key: signing needs one", block.Type)
}

func signed(key any) (jose.SigningKey, error) {
	switch k := key.(type) {
	case []byte:
		return jose.SigningKey{Algorithm: jose.HS256, Key: k}, nil
	case *rsa.PrivateKey:
		return jose.SigningKey{Algorithm: jose.RS256, Key: k}, nil
	case ed25519.PrivateKey:
		return jose.SigningKey{Algorithm: jose.EdDSA, Key: k}, nil
	case *ecdsa.PrivateKey:
		if k.Params().BitSize == 256 {
			return jose.SigningKey{Algorithm: jose.ES256, Key: k}, nil
		}
	}
	return jose.SigningKey{}, errors.New("want a secret, or a private key of RSA, Ed25519 or the curve P-256")
}
