package erasing

import (
	"crypto/ed25519"
	"fmt"
	"os"

	"github.com/tidemark/tidemark/app/erase"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
)

// certificateKey reads the key before anything is erased; nil if none is needed.
func (c *Cmd) certificateKey() (ed25519.PrivateKey, error) {
	if c.CertificateKey == "" {
		return nil, nil
	}
	if _, err := os.Stat(c.Certificate); c.Certificate != "" && err == nil {
		return nil, fmt.Errorf("%s exists: name a file that does not", c.Certificate)
	}
	return erase.ReadKey(c.CertificateKey)
}

// scan searches for traces of a user after an erasure.
func (c *Cmd) scan(a *verbs.App, conf erase.Config, key ed25519.PrivateKey) error {
	first, signature, err := erase.ReadCertificate(c.Scan, key.Public().(ed25519.PublicKey)) //nolint:forcetypeassert // of an Ed25519 key
	if err != nil {
		return err
	}
	second, found, err := erase.Scan(a.Ctx, conf, first)
	if err != nil {
		return c.Explain(a, err)
	}
	for _, f := range found {
		fmt.Fprintln(a.Stdout, term.Printable(f))
	}
	if len(found) > 0 {
		return verbs.ErrDifferences
	}
	second.First = signature
	fmt.Fprintf(a.Stdout, "nothing is left of %s, except the places in the certificate\n", term.Printable(c.User))
	if c.Certificate == "" {
		return nil
	}
	return second.Write(c.Certificate, key)
}
