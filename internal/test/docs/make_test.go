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

// TestMakeSaysWhatItInstalls: on a machine that lacks what the tests need, root reads what is about
// to be installed before anything is; everybody else reads how to install it, and nothing is.
func TestMakeSaysWhatItInstalls(t *testing.T) {
	mk := testkit.Program(t, "make")
	root, err := filepath.Abs(Root)
	if err != nil {
		t.Fatal(err)
	}
	asUser := func(uid string) (string, error) {
		bin := t.TempDir() // all that is installed: of what the tests need, nothing
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

// TestNodeOfTheClient: the version of Node that the package of the JavaScript client asks for is
// the one that its page names.
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
