package docs

import (
	"bytes"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Runnable lists the languages of examples that a test can run or check.
var Runnable = []string{"sh", "bash", "console", "js", "jsx", "ts", "html", "python", "go", "java", "yaml", "json", "redis", "sql", "http", "frames", "story", "tale", "answer", "proto"}

// Run says which test runs or checks examples, or why none does.
type Run struct {
	Pages    string // a pattern for path.Match
	Language string
	// Begins has the beginning of each example that the test runs. If it is empty, the test runs
	// all examples of the language on the pages.
	Begins []string
	Test   string // package and test; empty in exceptions
	Why    string // the reason why no test runs them; empty in tests
}

//go:embed examples.yml
var examplesFile []byte

// runs returns the entries of examples.yml: the tests that run examples, and the exceptions.
func runs() (tests, exceptions []Run, err error) {
	var file struct{ Tests, Exceptions []Run }
	d := yaml.NewDecoder(bytes.NewReader(examplesFile))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		return nil, nil, fmt.Errorf("examples.yml: %w", err)
	}
	return file.Tests, file.Exceptions, nil
}

// covers reports whether a run includes a block.
func (r Run) covers(b Block) bool {
	match, err := path.Match(r.Pages, b.Page)
	if err != nil || !match || r.Language != b.Language {
		return false
	}
	return len(r.Begins) == 0 || slices.ContainsFunc(r.Begins, func(s string) bool { return strings.HasPrefix(b.Text, s) })
}

// Reason returns why no test runs an example, or "" if one does.
func Reason(b Block) (string, error) {
	_, exceptions, err := runs()
	for _, r := range exceptions {
		if r.covers(b) {
			return r.Why, err
		}
	}
	return "", err
}
