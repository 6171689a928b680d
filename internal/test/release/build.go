package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// platform is an operating system and a processor, as Go names them.
type platform struct{ os, arch string }

// build builds the command of the tree at dir. It uses no cgo, so that the binary is static and
// depends on no C compiler, and leaves out paths of this machine and symbols. stamp writes the
// commit into it.
func build(ctx context.Context, dir, binary string, p platform, version string, stamp bool) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs="+strconv.FormatBool(stamp),
		"-ldflags", "-s -w -buildid= -X main.version="+version, "-o", binary, "./cmd/tidemark")
	c.Dir = dir
	// These levels of processors are the lowest of each platform, whatever this environment sets.
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly", "GOEXPERIMENT=")
	c.Stderr = os.Stderr
	return c.Run()
}

// stamped returns nil if a binary names its commit. In a linked working tree Go leaves the commit
// out without an error, and the same commit would then give other bytes than in a clone.
func stamped(binary, commit string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && s.Value == commit {
			return nil
		}
	}
	return fmt.Errorf("%s does not name its commit, %s: build a release in a clone of the repository, not in a linked working tree", binary, commit)
}
