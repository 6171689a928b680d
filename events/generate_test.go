package events_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the checksums of the schemas and of the code that `make generate` made of them")

// TestGeneratedCodeIsCurrent: schemas, generator and generated code are those of the last `make
// generate`, which lints the schemas and generates. To run buf here would take minutes where Go has
// not built it yet.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	const sums = "proto/generated.sum"
	now := checksums(t, "..")
	if *update {
		if err := os.WriteFile(sums, []byte(strings.Join(now, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	made := slices.Collect(strings.Lines(string(b)))
	for _, line := range now {
		if !slices.Contains(made, line) {
			t.Errorf("%s is not as `make generate` left it: run it again", name(line))
		}
	}
	if len(made) > len(now) {
		t.Errorf("%s has %d files, of which %d are left: run `make generate`", sums, len(made), len(now))
	}
}

// name returns the file of a line of checksums.
func name(line string) string { return line[2*sha256.Size+2 : len(line)-1] }

// checksums returns a line of sha256sum for each schema, file of the generator and file of generated
// code of the tree at root.
func checksums(t *testing.T, root string) (lines []string) {
	t.Helper()
	for _, from := range []string{"buf.gen.yaml", "buf.yaml", "tools/buf.mod", "tools/buf.sum", "events/proto", "events/eventsv1", "query/ingestv1", "query/queryv1"} {
		err := filepath.WalkDir(filepath.Join(root, from), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "generated.sum" {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(b), filepath.ToSlash(name)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// What was changed, added or removed since is named.
func TestChecksumsFindChanges(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"buf.gen.yaml", "buf.yaml", "tools/buf.mod", "tools/buf.sum", "events/proto/a.proto", "events/eventsv1/a.pb.go", "query/ingestv1/b.pb.go", "query/queryv1/c.pb.go"} {
		write(name, name)
	}
	before := checksums(t, root)
	if len(before) != 8 || name(before[4]) != "events/proto/a.proto" {
		t.Fatalf("%q", before)
	}
	write("events/proto/generated.sum", "not of itself")
	write("query/queryv1/c.pb.go", "changed")
	write("query/queryv1/d/d.pb.go", "added")
	after := checksums(t, root)
	if len(after) != 9 || !slices.Equal(after[:7], before[:7]) || after[7] == before[7] || name(after[8]) != "query/queryv1/d/d.pb.go" {
		t.Errorf("%q", after)
	}
}
