package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the number of the user and of their group, as in deploy/Dockerfile.
const user = 65532

// layer returns the files of an image as an uncompressed tar file: the command, Mozilla's
// authorities for calls to object stores and others, and the names of the users.
func (r release) layer(binary string) ([]byte, error) {
	command, err1 := os.ReadFile(binary)
	license, err2 := os.ReadFile(r.license)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	add := func(name string, mode int64, owner int, content []byte) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Uid: owner, Gid: owner, Size: int64(len(content)), ModTime: r.created, Format: tar.FormatUSTAR}
		if content == nil {
			h.Typeflag = tar.TypeDir
		}
		err := t.WriteHeader(h)
		if err == nil {
			_, err = t.Write(content)
		}
		err1 = errors.Join(err1, err)
	}
	for _, dir := range []string{"etc/", "etc/ssl/", "etc/ssl/certs/", "usr/", "usr/local/", "usr/local/bin/", "usr/share/", "usr/share/doc/", "usr/share/doc/tidemark/", "var/", "var/lib/"} {
		add(dir, 0o755, 0, nil)
	}
	add("tmp/", 0o1777, 0, nil)
	add("var/lib/tidemark/", 0o755, user, nil) // a volume that is mounted here gets the owner of this folder
	add("usr/local/bin/tidemark", 0o755, 0, command)
	add("usr/share/doc/tidemark/copyright", 0o644, 0, license)
	add("etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities())
	add("etc/passwd", 0o644, 0, []byte("root:x:0:0:root:/:/sbin/nologin\ntidemark:x:65532:65532:tidemark:"+dataDir+":/sbin/nologin\n"))
	add("etc/group", 0o644, 0, []byte("root:x:0:\ntidemark:x:65532:\n"))
	return out.Bytes(), errors.Join(err1, t.Close())
}

// authorities returns those that Mozilla trusts without a condition, in PEM. A file cannot hold a
// condition.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a Buffer takes everything
		}
	}
	return out.Bytes()
}
