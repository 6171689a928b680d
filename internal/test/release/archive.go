package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file in an archive.
type entry struct {
	name, from string
	mode       int64
}

// archive packs files into a folder of a .tar.gz. It writes nothing that depends on the machine: no
// owner, and no time except at.
func archive(path, folder string, entries []entry, at time.Time) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression) // its header has no name and no time
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, e := range entries {
		if err := add(t, folder, e, at); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func add(t *tar.Writer, folder string, e entry, at time.Time) error {
	from, err := os.Open(e.from)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + e.name, Mode: e.mode, Size: info.Size(), ModTime: at, Format: tar.FormatUSTAR}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, from)
	return err
}

// checksums writes SHA256SUMS of files in a folder, in the form that `sha256sum --check` reads.
func checksums(folder string, files []string) error {
	slices.Sort(files)
	var text strings.Builder
	for _, name := range files {
		sum, err := checksum(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(text.String()), 0o644)
}

func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
