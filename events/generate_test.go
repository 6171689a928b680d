package events_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGeneratedCodeIsCurrent generates the code into a temporary directory and compares it with the
// committed files.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("generating builds buf (about a minute when cold): left out by -short")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	fresh := t.TempDir()
	cmd := exec.Command("go", "tool", "-modfile=tools/buf.mod", "buf", "generate", "--output", fresh)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	checkedIn := 0
	for _, dir := range []string{"events/eventsv1", "query/queryv1", "query/ingestv1"} {
		checkedIn += len(files(t, filepath.Join(root, dir)))
	}
	generated := files(t, fresh)
	if len(generated) != checkedIn {
		t.Errorf("%d files are generated, %d are checked in", len(generated), checkedIn)
	}
	for name, want := range generated {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what its schema generates: run go generate ./events", name)
		}
	}
}

// files reads all Go files below dir, by path relative to it.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		found[filepath.ToSlash(name)] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The schemas follow buf's rules, with the exception that buf.yaml explains.
func TestSchemasLint(t *testing.T) {
	if testing.Short() {
		t.Skip("linting builds buf (about a minute when cold): left out by -short")
	}
	cmd := exec.Command("go", "tool", "-modfile=tools/buf.mod", "buf", "lint")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", cmd, err, out)
	}
}
