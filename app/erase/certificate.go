package erase

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"
)

// Kinds of certificates.
const (
	KindErasure = "erasure" // the channels of an erasure, and the places that keep the id
	KindScan    = "scan"    // a later search that found nothing
)

// Certificate describes the erasure of a user.
type Certificate struct {
	Kind      string    `json:"kind"`
	User      string    `json:"user"`
	At        time.Time `json:"at"`
	Positions []string  `json:"positions"`       // the last records of the inputs that it covers, as tokens
	Result    *Result   `json:"result"`          // of the erasure; for a scan, the places that it searched
	First     []byte    `json:"first,omitempty"` // for a scan: the signature of the erasure's certificate
}

// Certificate returns the certificate of an erasure.
func (res *Result) Certificate(at time.Time) *Certificate {
	return &Certificate{Kind: KindErasure, User: res.User, At: at.UTC(), Positions: res.Before, Result: res}
}

// Stored is a snapshot of a partition, with the digest of the store at its position.
type Stored struct {
	Partition int32     `json:"partition"`
	Position  [3]int64  `json:"position"`
	Digest    string    `json:"digest"`
	At        time.Time `json:"at"`
	Erased    bool      `json:"erased"` // it is from after the erasure, and has only the mark of the erased user
}

// signedCertificate is a file with a certificate. The signature covers the bytes of Certificate in
// the file.
type signedCertificate struct {
	Certificate json.RawMessage   `json:"certificate"`
	Algorithm   string            `json:"algorithm"`
	Key         ed25519.PublicKey `json:"key"`
	Signature   []byte            `json:"signature"`
}

const algorithm = "Ed25519"

// ReadKey reads the private key of a file: Ed25519, as PKCS #8 in PEM.
func ReadKey(file string) (ed25519.PrivateKey, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("%s has no private key in PEM: `openssl genpkey -algorithm ed25519` makes one", file)
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the key in %s cannot be read: %w", file, err)
	}
	key, ok := k.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key in %s is not an Ed25519 key: `openssl genpkey -algorithm ed25519` makes one", file)
	}
	return key, nil
}

// Write writes a signed certificate to a file that does not exist yet.
func (c *Certificate) Write(file string, key ed25519.PrivateKey) (err error) {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	public, _ := key.Public().(ed25519.PublicKey)
	b, err := json.Marshal(signedCertificate{body, algorithm, public, ed25519.Sign(key, body)})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("the certificate cannot be written: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err = f.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("the certificate cannot be written: %w", err)
	}
	return f.Sync()
}

// ReadCertificate reads a certificate and its signature, and checks the signature with the key.
func ReadCertificate(file string, key ed25519.PublicKey) (c *Certificate, signature []byte, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var s signedCertificate
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, nil, fmt.Errorf("%s is not a certificate of an erasure: %w", file, err)
	}
	switch {
	case s.Algorithm != algorithm || !key.Equal(s.Key):
		return nil, nil, fmt.Errorf("%s was not signed with this key", file)
	case !ed25519.Verify(key, s.Certificate, s.Signature):
		return nil, nil, fmt.Errorf("%s was changed after it was signed", file)
	}
	c = &Certificate{}
	if err := json.Unmarshal(s.Certificate, c); err != nil {
		return nil, nil, fmt.Errorf("%s is not a certificate of an erasure: %w", file, err)
	}
	return c, s.Signature, nil
}
