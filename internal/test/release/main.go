// Command release builds the archives of a release: for each platform a static binary, packed with
// the licence and the changelog, its bill of materials, for Linux the packages, the container
// image, and the checksums of all files. `make release` calls it. The same commit and the same Go
// give the same bytes, wherever and whenever they are built.
//
//	main.go     the flags, and the steps
//	build.go    builds a binary
//	archive.go  packs it, and writes checksums
//	package.go  makes packages for Debian's and Red Hat's relatives
//	image.go    makes the container image
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// platforms are the platforms of a release.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

func main() {
	version := flag.String("version", "", "name of the release")
	out := flag.String("out", "dist", "folder for the files")
	sbom := flag.String("sbom", "go tool -modfile=tools/cyclonedx.mod cyclonedx-gomod", "command that makes bills of materials")
	nfpm := flag.String("nfpm", "go tool -modfile=tools/nfpm.mod nfpm", "command that makes packages")
	image := flag.String("image", "go run -C tools/image .", "command that makes the container image")
	flag.Parse()
	if *version == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: release -version NAME [-out FOLDER] [-sbom COMMAND] [-nfpm COMMAND] [-image COMMAND], at the root of the tree")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, *version, *out, strings.Fields(*sbom), packager{strings.Fields(*nfpm), "."}, imager{strings.Fields(*image), "."}); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release writes the files of all platforms into a folder that it empties first.
func release(ctx context.Context, version, out string, sbom []string, packages packager, images imager) error {
	commit, at, err := head(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "tidemark-release-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	var files []string
	var inImage []platform
	binaries := map[platform]string{}
	for _, p := range platforms {
		name := fmt.Sprintf("tidemark_%s_%s_%s", strings.TrimPrefix(version, "v"), p.os, p.arch)
		binary := filepath.Join(scratch, name, "tidemark")
		if err := build(ctx, ".", binary, p, version, true); err != nil {
			return fmt.Errorf("%s/%s: %w", p.os, p.arch, err)
		}
		if err := stamped(binary, commit); err != nil {
			return err
		}
		content := []entry{{"tidemark", binary, 0o755}, {"LICENSE", "LICENSE", 0o644}, {"CHANGELOG.md", "CHANGELOG.md", 0o644}, {"README.md", "README.md", 0o644}}
		if err := archive(filepath.Join(out, name+".tar.gz"), name, content, at); err != nil {
			return err
		}
		bill := exec.CommandContext(ctx, sbom[0], append(sbom[1:len(sbom):len(sbom)], "bin", "-json", "-noserial", "-notimestamp", "-std", "-version", version,
			"-output", filepath.Join(out, name+".cdx.json"), binary)...)
		bill.Stderr = os.Stderr
		if err := bill.Run(); err != nil {
			return fmt.Errorf("bill of materials of %s: %w", name, err)
		}
		files = append(files, name+".tar.gz", name+".cdx.json")
		fmt.Println(filepath.Join(out, name+".tar.gz"))
		if p.os != "linux" {
			continue
		}
		names, err := packages.pack(ctx, out, name, binary, p, version, at)
		if err != nil {
			return err
		}
		files = append(files, names...)
		inImage, binaries[p] = append(inImage, p), binary
	}
	names, err := images.make(ctx, out, fmt.Sprintf("tidemark_%s_image", strings.TrimPrefix(version, "v")), inImage, binaries, version, commit, at)
	if err != nil {
		return err
	}
	files = append(files, names...)
	return checksums(out, files)
}

// head returns the commit and its time. The files of the archives get that time, because with the
// time of the build no two builds would be equal.
func head(ctx context.Context) (commit string, at time.Time, err error) {
	text, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%H %ct").Output()
	if err != nil {
		return "", time.Time{}, fmt.Errorf("time of the commit: %w: build a release in a clone of the repository", err)
	}
	commit, stamp, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	return commit, time.Unix(seconds, 0).UTC(), err
}
