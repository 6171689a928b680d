package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// The image of a release is an OCI layout in which the name of each blob is its checksum. Its
// settings are those of deploy/Dockerfile. Its entrypoint runs with nothing but the files of the
// image, as the image's user. Two images of the same files are equal.
func TestImage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command and tools/image")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
	defer cancel()
	here, dir := platform{"linux", runtime.GOARCH}, t.TempDir()
	other := platform{"linux", map[string]string{"amd64": "arm64"}[here.arch]}
	if other.arch == "" {
		other.arch = "amd64"
	}
	binaries := map[platform]string{here: filepath.Join(dir, "here", "tidemark"), other: filepath.Join(dir, "other", "tidemark")}
	if err := build(ctx, root, binaries[here], here, "v0.0.0-test", false); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "other"), 0o755), os.WriteFile(binaries[other], []byte("of the other platform"), 0o600)); err != nil {
		t.Fatal(err)
	}
	i := imager{strings.Fields("go run -C tools/image ."), mustAbs(t, root)}
	var made [2][]byte
	var digest string
	for n := range made {
		out := t.TempDir()
		names, err := i.make(ctx, out, "tidemark_0_image", []platform{here, other}, binaries, "v0.0.0-test", "abc123", time.Unix(1e9, 0))
		if err != nil || strings.Join(names, " ") != "tidemark_0_image.tar tidemark_0_image.digest" {
			t.Fatalf("%v, %v", names, err)
		}
		layout, err1 := os.ReadFile(filepath.Join(out, names[0]))
		sum, err2 := os.ReadFile(filepath.Join(out, names[1]))
		if err := errors.Join(err1, err2, os.Chtimes(binaries[here], time.Now(), time.Now())); err != nil {
			t.Fatal(err)
		}
		made[n], digest = layout, strings.TrimSpace(string(sum))
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Errorf("two images of the same files differ: %d and %d bytes", len(made[0]), len(made[1]))
	}
	l := layoutOf(t, made[0])
	var top, platforms manifest
	l.read(t, "index.json", &top)
	if len(top.Manifests) != 1 || top.Manifests[0].Digest != digest || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v0.0.0-test" {
		t.Fatalf("the layout's index: %+v, want %s", top, digest)
	}
	l.read(t, blob(digest), &platforms)
	if len(platforms.Manifests) != 2 {
		t.Fatalf("%+v", platforms)
	}
	for n, p := range []platform{here, other} {
		d := platforms.Manifests[n]
		if d.Platform.OS != p.os || d.Platform.Architecture != p.arch {
			t.Errorf("image %d is of %+v, want %+v", n, d.Platform, p)
		}
		var m manifest
		l.read(t, blob(d.Digest), &m)
		var c config
		l.read(t, blob(m.Config.Digest), &c)
		if c.OS != p.os || c.Architecture != p.arch || c.Created.Unix() != 1e9 || len(m.Layers) != 1 {
			t.Errorf("%+v: %+v, %d layers", p, c, len(m.Layers))
		}
		asInDockerfile(t, c)
		files := unpacked(t, l[blob(m.Layers[0].Digest)])
		content(t, files)
		if p != here {
			if files["usr/local/bin/tidemark"].text != "of the other platform" {
				t.Errorf("%+v has another command", p)
			}
			continue
		}
		at := rootOf(t, files)
		if out, code := inside(ctx, t, c, at, "version"); code != 0 || !strings.HasPrefix(out, "tidemark v0.0.0-test") {
			t.Errorf("the entrypoint ends with %d and prints %q", code, out)
		}
		manifestsRun(ctx, t, c, at)
	}
}

// content checks the files that an image has beside the command.
func content(t *testing.T, files map[string]packed) {
	t.Helper()
	for name, want := range map[string]string{
		"etc/passwd": "root:x:0:0:", "etc/group": "root:x:0:", "usr/share/doc/tidemark/copyright": "", "etc/ssl/certs/ca-certificates.crt": "-----BEGIN CERTIFICATE-----",
	} {
		if f, found := files[name]; !found || f.mode != 0o644 || !strings.HasPrefix(f.text, want) {
			t.Errorf("%s: %v, %o %.60q", name, found, f.mode, f.text)
		}
	}
	if n := strings.Count(files["etc/ssl/certs/ca-certificates.crt"].text, "-----BEGIN CERTIFICATE-----"); n < 80 {
		t.Errorf("there are %d authorities", n)
	}
	if f := files["usr/local/bin/tidemark"]; f.mode != 0o755 {
		t.Errorf("the command has the mode %o", f.mode)
	}
	if len(files) != 5 {
		t.Errorf("there is more: %v", slices.Sorted(maps.Keys(files)))
	}
}

// asInDockerfile compares the settings of an image with those of deploy/Dockerfile.
func asInDockerfile(t *testing.T, c config) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	last := string(text[bytes.LastIndex(text, []byte("\nFROM ")):])
	line := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + ` (.*)$`).FindStringSubmatch(last)
		if m == nil {
			t.Fatalf("the Dockerfile has no %s", name)
		}
		return m[1]
	}
	list := func(values []string) string {
		b, _ := json.Marshal(values)
		return strings.ReplaceAll(string(b), `","`, `", "`)
	}
	if c.Config.User != line("USER") || strings.HasPrefix(c.Config.User, "0") || list(c.Config.Entrypoint) != line("ENTRYPOINT") || list(c.Config.Cmd) != line("CMD") {
		t.Errorf("the image and the Dockerfile differ: %+v", c.Config)
	}
	if !slices.Contains(c.Config.Env, line("ENV")) || len(c.Config.Env) != 2 || len(c.Config.ExposedPorts) != 1 || c.Config.ExposedPorts[line("EXPOSE")+"/tcp"] == nil {
		t.Errorf("the image and the Dockerfile differ: %+v", c.Config)
	}
	labels := map[string]string{"org.opencontainers.image.revision": "abc123", "org.opencontainers.image.created": "2001-09-09T01:46:40Z"}
	for _, m := range regexp.MustCompile(`(org\.opencontainers\.image\.[a-z]+)="([^"]*)"`).FindAllStringSubmatch(last, -1) {
		labels[m[1]] = strings.ReplaceAll(m[2], "${VERSION}", "v0.0.0-test")
	}
	if len(labels) != 7 || !maps.Equal(labels, c.Config.Labels) {
		t.Errorf("labels of the image: %v, of the Dockerfile: %v", c.Config.Labels, labels)
	}
}

// rootOf writes the files of an image to a folder.
func rootOf(t *testing.T, files map[string]packed) string {
	t.Helper()
	dir := t.TempDir()
	for name, f := range files {
		to := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(f.text), os.FileMode(f.mode))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// inside runs the entrypoint of an image with nothing but the image's files, as the image's user,
// and returns its output and exit code. Only root can do so; for other users it runs the image's
// command outside of the image.
func inside(ctx context.Context, t *testing.T, c config, dir string, args ...string) (string, int) {
	t.Helper()
	var found string
	for _, env := range c.Config.Env {
		if path, ok := strings.CutPrefix(env, "PATH="); ok {
			found = filepath.Join(path, c.Config.Entrypoint[0])
		}
	}
	x := exec.CommandContext(ctx, found, args...)
	x.Env, x.Dir = c.Config.Env, "/"
	if os.Geteuid() == 0 {
		var uid, gid uint32
		if _, err := fmt.Sscanf(c.Config.User, "%d:%d", &uid, &gid); err != nil {
			t.Fatal(err)
		}
		x.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	} else {
		x.Path = filepath.Join(dir, found)
	}
	out, err := x.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", found, err)
	}
	return string(out), x.ProcessState.ExitCode()
}

// refusedFlags matches the errors of a command line that the command refuses.
var refusedFlags = regexp.MustCompile(`unknown flag|unexpected argument|missing flags|must be one of|expected .* value|there is no flag`)

// manifestsRun runs the command of each container in deploy/kubernetes, which the chart generates,
// with the command of the image. The command finds neither brokers nor files, but accepts the
// command line.
func manifestsRun(ctx context.Context, t *testing.T, c config, dir string) {
	t.Helper()
	lists, err := filepath.Glob(filepath.Join(root, "deploy", "kubernetes", "*.yaml"))
	if err != nil || len(lists) < 2 {
		t.Fatalf("%v, %v", lists, err)
	}
	for _, name := range lists {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var o struct {
				Spec struct {
					Template struct {
						Spec struct{ Containers []struct{ Args []string } }
					}
				}
			}
			if err := d.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, container := range o.Spec.Template.Spec.Containers {
				n++
				args := append(container.Args, "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0")
				out, code := inside(ctx, t, c, dir, args...)
				if code == 0 || refusedFlags.MatchString(out) || !strings.Contains(out, "afka") {
					t.Errorf("%s: tidemark %s: %d %s", filepath.Base(name), strings.Join(args, " "), code, out)
				}
				if out, code := inside(ctx, t, c, dir, append(args, "--no-such-flag")...); code != 2 || !refusedFlags.MatchString(out) {
					t.Errorf("a flag that does not exist: %d %s", code, out)
				}
			}
		}
		if n != 2 {
			t.Errorf("%s has %d containers", name, n)
		}
	}
}

// manifest has the part of an OCI manifest or index that the test reads.
type manifest struct {
	Manifests, Layers []descriptor
	Config            descriptor
}

type descriptor struct {
	Digest      string
	Size        int
	Annotations map[string]string
	Platform    struct{ OS, Architecture string }
}

// config has the part of an OCI configuration that the test reads.
type config struct {
	OS, Architecture string
	Created          time.Time
	Config           struct {
		User                 string
		Env, Entrypoint, Cmd []string
		ExposedPorts         map[string]any
		Labels               map[string]string
	}
}

// layout has the files of an OCI layout by name.
type layout map[string][]byte

func blob(digest string) string { return "blobs/" + strings.ReplaceAll(digest, ":", "/") }

// layoutOf unpacks a layout, and checks that the name of each blob is its checksum.
func layoutOf(t *testing.T, b []byte) layout {
	t.Helper()
	l := layout{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 1e9 || h.Uname != "" || h.Uid != 0 {
			t.Errorf("%s has the time %v and the owner %q, %d", h.Name, h.ModTime, h.Uname, h.Uid)
		}
		if l[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(l[h.Name]))
		if name, ok := strings.CutPrefix(h.Name, "blobs/sha256/"); ok && name != sum {
			t.Errorf("%s has the checksum %s", h.Name, sum)
		}
	}
	if got := string(l["oci-layout"]); !strings.Contains(got, `"1.0.0"`) {
		t.Errorf("oci-layout: %q", got)
	}
	return l
}

func (l layout) read(t *testing.T, name string, to any) {
	t.Helper()
	if err := json.Unmarshal(l[name], to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
