package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// formats are the formats of packages, which are also the suffixes of their names.
var formats = []string{"deb", "rpm"}

// packager makes packages with the command nfpm.
type packager struct {
	command []string
	root    string // of the tree
}

// pack writes the packages of a binary to a folder, and returns their names. Like an archive they
// contain nothing that depends on the machine, and no time except at.
func (p packager) pack(ctx context.Context, out, name, binary string, on platform, version string, at time.Time) ([]string, error) {
	stage, err := os.MkdirTemp("", "tidemark-package-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	for _, from := range []string{
		binary, p.path("LICENSE"), p.path("CHANGELOG.md"), p.path("deploy/package/tidemark.service"), p.path("deploy/package/tidemark.yml"),
	} {
		if err := staged(filepath.Join(stage, filepath.Base(from)), from, at); err != nil {
			return nil, err
		}
	}
	out, err = filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, format := range formats {
		file := name + "." + format
		c := exec.CommandContext(ctx, p.command[0], append(p.command[1:len(p.command):len(p.command)], "package", "--config", "deploy/package/nfpm.yml",
			"--packager", format, "--target", filepath.Join(out, file))...)
		c.Dir = p.root
		c.Env = append(os.Environ(), "TIDEMARK_PACKAGE_FILES="+stage, "TIDEMARK_PACKAGE_ARCH="+on.arch, "TIDEMARK_PACKAGE_VERSION="+packageVersion(version),
			"SOURCE_DATE_EPOCH="+strconv.FormatInt(at.Unix(), 10))
		if output, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("package %s: %w\n%s", file, err, output)
		}
		names = append(names, file)
	}
	return names, nil
}

func (p packager) path(name string) string { return filepath.Join(p.root, filepath.FromSlash(name)) }

// staged copies a file and sets its time.
func staged(to, from string, at time.Time) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	return errors.Join(err, f.Close(), os.Chtimes(to, at, at))
}

// described matches the version of a commit without a tag of its own: the number of commits since a
// tag, and the hash.
var described = regexp.MustCompile(`-(\d+)-g([0-9a-f]+)`)

// packageVersion returns a version that package managers sort correctly: 1.4.0~rc.1 is before
// 1.4.0, and 1.4.0+5.gabc after it. A hash alone is before all versions.
func packageVersion(version string) string {
	v := described.ReplaceAllString(strings.TrimPrefix(version, "v"), "+$1.g$2")
	if v == "" || v[0] < '0' || v[0] > '9' || !strings.Contains(v, ".") {
		v = "0~" + v
	}
	return strings.ReplaceAll(v, "-", "~")
}
