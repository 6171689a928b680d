package main

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// write packs an OCI layout with an index into a tar file, after it has checked every file of the
// layout. The annotations are the names that docker load, podman load and skopeo give to the image.
func write(out string, index v1.ImageIndex, r release) (err error) {
	dir, err := os.MkdirTemp("", "tidemark-image-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	names := map[string]string{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "docker.io/library/tidemark:" + r.version}
	if err := l.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	written, err := l.ImageIndex()
	if err != nil {
		return err
	}
	if err := validate.Index(written); err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	t := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // in the order of the names
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return r.pack(t, dir, path)
	})
	return errors.Join(err, t.Close(), f.Close())
}

// pack adds a file of the layout.
func (r release) pack(t *tar.Writer, dir, path string) error {
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: 0o644, Size: info.Size(), ModTime: r.created, Format: tar.FormatUSTAR}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, from)
	return err
}
