package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestMakeSaysWhatItInstalls: on a machine without the programs that the tests need, `make
// test-tools` as root prints what it is about to install before it installs anything. As any other
// user it prints how to install them, and installs nothing.
func TestMakeSaysWhatItInstalls(t *testing.T) {
	mk := testkit.Program(t, "make")
	root, err := filepath.Abs(Root)
	if err != nil {
		t.Fatal(err)
	}
	asUser := func(uid string) (string, error) {
		bin := t.TempDir() // the only programs on PATH: none that the tests need
		for name, script := range map[string]string{"id": "echo " + uid, "apt-get": `echo "did apt-get $*"`, "service": "true"} {
			if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/bash\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), mk, "--no-print-directory", "-C", root, "test-tools") //nolint:gosec // the program is make
		cmd.Env = []string{"PATH=" + bin}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	out, err := asUser("0")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	message, done, did := strings.Cut(out, "did apt-get")
	for _, needed := range []string{"openjdk-17-jdk-headless", "maven", "redis-server", "prometheus", "nodejs", "chromium"} {
		if !strings.Contains(message, needed) {
			t.Errorf("%s is not named before the installing begins:\n%s", needed, out)
		}
	}
	if !did || !strings.Contains(done, "install -y") {
		t.Errorf("nothing is installed:\n%s", out)
	}

	out, err = asUser("1000")
	if err == nil || strings.Contains(out, "did apt-get") || !strings.Contains(out, "sudo apt-get install openjdk-17-jdk-headless") {
		t.Errorf("%v, and as somebody else than root:\n%s", err, out)
	}
}

// TestNodeOfTheClient: the package of the JavaScript client and its page name the same version of
// Node.
func TestNodeOfTheClient(t *testing.T) {
	read := func(path string, what *regexp.Regexp) string {
		text, err := os.ReadFile(filepath.Join(Root, path)) //nolint:gosec // a file of the repository
		if err != nil {
			t.Fatal(err)
		}
		found := what.FindStringSubmatch(string(text))
		if found == nil {
			t.Fatalf("%s does not match %s", path, what)
		}
		return found[1]
	}
	asks := read("clients/js/package.json", regexp.MustCompile(`"engines": \{ "node": ">=(\d+)" \}`))
	if message := read("docs/clients.md", regexp.MustCompile(`in Node from (\d+)`)); asks != message || asks != "22" {
		t.Errorf("the package asks for Node %s, the page says %s, and 22 is the first with a WebSocket of its own", asks, message)
	}
}

// TestMakeHasTheTargetsOfThePages: each target that a page or example calls is one of the Makefile.
func TestMakeHasTheTargetsOfThePages(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(Root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := Pages(Root)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := All(Root)
	if err != nil {
		t.Fatal(err)
	}
	called := 0
	look := func(page, text string, call *regexp.Regexp) {
		for _, m := range call.FindAllStringSubmatch(text, -1) {
			called++
			if !strings.Contains(string(makefile), "\n.PHONY: "+m[1]+"\n") {
				t.Errorf("%s: make has no target %s", page, m[1])
			}
		}
	}
	for page, text := range pages {
		look(page, text, inProse)
	}
	for _, b := range blocks {
		look(b.Page, b.Text, inExample)
	}
	if called < 50 {
		t.Errorf("the pages call only %d targets", called)
	}
}

var (
	inProse   = regexp.MustCompile("`make ([a-z][a-z-]*)")
	inExample = regexp.MustCompile(`(?m)^(?:\$ )?make ([a-z][a-z-]*)`)
)
