package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// imager makes container images with the command of tools/image.
type imager struct {
	command []string
	root    string // of the tree
}

// make writes an image of binaries to a folder, by platform: an OCI layout in a tar file, and the
// image's digest. It returns the names of both files. Like an archive they contain nothing that
// depends on the machine, and no time except at.
func (i imager) make(ctx context.Context, out, name string, platforms []platform, binaries map[platform]string, version, commit string, at time.Time) ([]string, error) {
	license, err := filepath.Abs(filepath.Join(i.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	if out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	layout, digest := name+".tar", name+".digest"
	args := append(i.command[1:len(i.command):len(i.command)], "-version", version, "-revision", commit, "-created", strconv.FormatInt(at.Unix(), 10),
		"-license", license, "-out", filepath.Join(out, layout))
	for _, p := range platforms {
		binary, err := filepath.Abs(binaries[p])
		if err != nil {
			return nil, err
		}
		args = append(args, p.os+"/"+p.arch+"="+binary)
	}
	c := exec.CommandContext(ctx, i.command[0], args...)
	c.Dir, c.Stderr = i.root, os.Stderr
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", layout, err)
	}
	if !strings.HasPrefix(string(text), "sha256:") {
		return nil, fmt.Errorf("image %s: %s printed %q, which is no digest", layout, i.command[0], text)
	}
	return []string{layout, digest}, os.WriteFile(filepath.Join(out, digest), text, 0o644)
}
