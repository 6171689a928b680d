package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

// The same source in two folders becomes the same binary, which is static and has no symbols. The
// archives of both are equal too, whenever they are made.
func TestTwoBuildsAreEqual(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command twice")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
	defer cancel()
	elsewhere := copied(t)
	dir := t.TempDir()
	var sums [2]string
	for i, from := range []string{root, elsewhere} {
		binary := filepath.Join(dir, string(rune('a'+i)), "tidemark")
		if err := build(ctx, from, binary, platform{"linux", "amd64"}, "v0.0.0-test", false); err != nil {
			t.Fatal(err)
		}
		static(t, binary)
		packed := filepath.Join(dir, string(rune('a'+i))+".tar.gz")
		err := archive(packed, "tidemark_test", []entry{{"tidemark", binary, 0o755}, {"LICENSE", filepath.Join(from, "LICENSE"), 0o644}}, time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		if sums[i], err = checksum(packed); err != nil {
			t.Fatal(err)
		}
	}
	a, err1 := os.ReadFile(filepath.Join(dir, "a", "tidemark"))
	b, err2 := os.ReadFile(filepath.Join(dir, "b", "tidemark"))
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("two builds of the same source differ: %d and %d bytes, %v, %v", len(a), len(b), err1, err2)
	}
	if sums[0] != sums[1] {
		t.Errorf("two archives of the same files differ: %v", sums)
	}
	for _, own := range []string{elsewhere, mustAbs(t, root)} {
		if bytes.Contains(a, []byte(own)) {
			t.Errorf("the binary names the folder that it was built in, %s", own)
		}
	}
	if err := stamped(filepath.Join(dir, "a", "tidemark"), "4b825dc6"); err == nil || !strings.Contains(err.Error(), "4b825dc6") {
		t.Errorf("a binary without a commit: %v", err)
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "a", "tidemark"), "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "tidemark v0.0.0-test") {
		t.Errorf("%q, %v", out, err)
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// copied returns a copy of the tree in another folder, without hidden and built files.
func copied(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || name == "bin" || name == "dist" || name == "tmp"):
			return fs.SkipDir
		case d.IsDir():
			return os.Mkdir(filepath.Join(to, name), 0o755)
		case !d.Type().IsRegular() || strings.HasSuffix(name, ".test"):
			return nil
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file of a test that runs at the same time
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// The benches measure the binary that is released: `make bench` and `make bench-compare` build as
// build does.
func TestBenchesMeasureTheBuildOfARelease(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("build.go")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^BENCH_BUILD := CGO_ENABLED=0 \$\(GO\) build -trimpath -ldflags "(.*)\$\(VERSION\)"$`).FindStringSubmatch(string(b))
	if flags == nil || !strings.Contains(string(source), `"-trimpath"`) || !strings.Contains(string(source), `"CGO_ENABLED=0"`) ||
		!strings.Contains(string(source), `"-ldflags", "`+flags[1]+`"+version`) {
		t.Errorf("BENCH_BUILD of the Makefile does not build as build does: %q", flags)
	}
	for target, builds := range map[string]int{"bench": 1, "bench-compare": 2} {
		recipe := regexp.MustCompile(`(?m)^` + target + `: (.*)\n((\t.*\n)+)`).FindStringSubmatch(string(b))
		if recipe == nil || strings.HasPrefix(recipe[1], "build") || strings.Count(recipe[2], "$(BENCH_BUILD)") != builds || strings.Contains(recipe[2], "$(GO) build") {
			t.Errorf("make %s: %q", target, recipe)
		}
	}
}

// static fails the test if a binary needs a dynamic linker, or has symbols.
func static(t *testing.T, binary string) {
	t.Helper()
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s is not static: it has %s", binary, p.Type)
		}
	}
	if f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
		t.Errorf("%s is not stripped", binary)
	}
}

// checksums writes the form that sha256sum checks, in the order of the names.
func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := checksums(dir, []string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	want := "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n" +
		"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n"
	if err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}
