package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Packages have the command, its service and its settings, at their places and owned by root. Two
// packages of the same files are equal, whenever they are made.
func TestPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds nfpm")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
	defer cancel()
	p := packager{command: strings.Fields("go tool -modfile=tools/nfpm.mod nfpm"), root: mustAbs(t, root)}
	binary := filepath.Join(t.TempDir(), "tidemark")
	if err := os.WriteFile(binary, []byte("the command"), 0o755); err != nil {
		t.Fatal(err)
	}
	var made [2]string
	for i := range made {
		made[i] = t.TempDir()
		names, err := p.pack(ctx, made[i], "tidemark_1_linux_arm64", binary, platform{"linux", "arm64"}, "v1.4.0-rc.1", time.Unix(1e9, 0))
		if err != nil || strings.Join(names, " ") != "tidemark_1_linux_arm64.deb tidemark_1_linux_arm64.rpm" {
			t.Fatalf("%v, %v", names, err)
		}
		if err := os.Chtimes(binary, time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range formats {
		a, err1 := os.ReadFile(filepath.Join(made[0], "tidemark_1_linux_arm64."+format))
		b, err2 := os.ReadFile(filepath.Join(made[1], "tidemark_1_linux_arm64."+format))
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("two packages of the same files differ: %d and %d bytes of %s, %v, %v", len(a), len(b), format, err1, err2)
		}
		if format == "rpm" && !bytes.HasPrefix(a, []byte{0xed, 0xab, 0xee, 0xdb}) {
			t.Errorf("the rpm begins with %x", a[:min(len(a), 4)])
		}
	}
	deb, err := os.ReadFile(filepath.Join(made[0], "tidemark_1_linux_arm64.deb"))
	if err != nil {
		t.Fatal(err)
	}
	members := ar(t, deb)
	control, data := unpacked(t, members["control.tar.gz"]), unpacked(t, members["data.tar.gz"])
	for _, line := range []string{"Package: tidemark\n", "Version: 1.4.0~rc.1\n", "Architecture: arm64\n"} {
		if !strings.Contains(control["control"].text, line) {
			t.Errorf("%q is not in\n%s", line, control["control"].text)
		}
	}
	if control["conffiles"].text != "/etc/tidemark/tidemark.yml\n" || !strings.Contains(control["postinst"].text, "useradd") {
		t.Errorf("conffiles %q, postinst %q", control["conffiles"].text, control["postinst"].text)
	}
	for name, want := range map[string]string{
		"usr/bin/tidemark": "755 root the command", "usr/lib/systemd/system/tidemark.service": "644 root [Unit]", "etc/tidemark/tidemark.yml": "640 root # Settings",
		"usr/share/doc/tidemark/copyright": "644 root ", "usr/share/doc/tidemark/CHANGELOG.md": "644 root # Changes",
	} {
		f := data[name]
		if got := fmt.Sprintf("%o %s %s", f.mode, f.owner, f.text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %.60q, want %q", name, got, want)
		}
		delete(data, name)
	}
	if len(data) > 0 {
		t.Errorf("there is more: %v", data)
	}
}

// packed is a file of an archive.
type packed struct {
	mode        int64
	owner, text string
}

// unpacked returns the files of a .tar.gz.
func unpacked(t *testing.T, b []byte) map[string]packed {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]packed{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 1e9 {
			t.Errorf("%s has the time %v", h.Name, h.ModTime)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, "./")] = packed{h.Mode, h.Uname, string(text)}
	}
}

// ar returns the members of an ar archive.
func ar(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	b, ok := bytes.CutPrefix(b, []byte("!<arch>\n"))
	if !ok {
		t.Fatal("no ar archive")
	}
	members := map[string][]byte{}
	for len(b) >= 60 {
		size, err := strconv.Atoi(strings.TrimSpace(string(b[48:58])))
		if err != nil || 60+size > len(b) {
			t.Fatal(size, err)
		}
		members[strings.TrimRight(string(b[:16]), " /")] = b[60 : 60+size]
		b = b[60+size:]
		if size%2 == 1 && len(b) > 0 {
			b = b[1:]
		}
	}
	return members
}

func TestPackageVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.4.0": "1.4.0", "v1.4.0-rc.1": "1.4.0~rc.1", "v1.4.0-5-gabc1234": "1.4.0+5.gabc1234", "v1.4.0-rc.1-5-gabc1234": "1.4.0~rc.1+5.gabc1234",
		"abc1234": "0~abc1234", "1234567": "0~1234567", "v1.4.0-dirty": "1.4.0~dirty",
	} {
		if got := packageVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
