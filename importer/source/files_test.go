package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files makes a folder of files.
func files(t *testing.T, of map[string]string) *Folder {
	t.Helper()
	dir := t.TempDir()
	for name, text := range of {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rows returns the rows of a table as text, NULL as `-`.
func rows(t *testing.T, f *Folder, table string, columns ...string) (all []string, err error) {
	t.Helper()
	_, err = f.Rows(t.Context(), table, "", func(r *Row) error {
		var fields []string
		for _, c := range columns {
			text, ok := r.Get(c)
			if !ok {
				text = "-"
			}
			fields = append(fields, text)
		}
		all = append(all, strings.Join(fields, "|"))
		return nil
	})
	return all, err
}

// CSV and NDJSON give the same rows, in the folder or one level below.
func TestFormsOfATable(t *testing.T) {
	csv := "\ufeffid, text,n\n1,\"a, \"\"b\"\"\nc\",7\n2,,\\N\n"
	ndjson := `{"id":1,"text":"a, \"b\"\nc","n":7}` + "\n\n" + `{"id":"2","text":null}` + "\n"
	for name, text := range map[string]string{"t.csv": csv, "csv/t.csv": csv, "t.ndjson": ndjson, "ndjson/t.ndjson": ndjson} {
		got, err := rows(t, files(t, map[string]string{name: text}), "t", "id", "text", "n")
		if err != nil || strings.Join(got, "\n") != "1|a, \"b\"\nc|7\n2|-|-" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	f := files(t, map[string]string{"t.csv": csv})
	if found, err := f.Rows(t.Context(), "other", "", nil); found || err != nil {
		t.Errorf("a table that is not there: found %t, %v", found, err)
	}
	if got, err := rows(t, files(t, map[string]string{"t.csv": ""}), "t", "id"); len(got) > 0 || err != nil {
		t.Errorf("an empty file: %v, %v", got, err)
	}
}

// The error about a broken file has the line, and later rows are not read.
func TestBrokenFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"t.csv", "a,b\n1,2\n3\n", "t.csv: line 3 has 1 fields, but the first line names 2 columns"},
		{"t.csv", "a,b\n1,\"2\n", "t.csv: "},
		{"t.ndjson", "{\"a\":1}\n[2]\n{\"a\":3}\n", "t.ndjson: line 2 is not a JSON object"},
		{"t.ndjson", "{\"a\":1}\n{\"a\":\"" + strings.Repeat("x", maxLine) + "\"}\n", "a line is longer than 16777216 bytes"},
	} {
		got, err := rows(t, files(t, map[string]string{c.name: c.text}), "t", "a")
		if err == nil || !strings.Contains(err.Error(), c.want) || len(got) > 1 {
			t.Errorf("%s: %d rows, %v; want %q", c.name, len(got), err, c.want)
		}
	}
	stop := errors.New("enough")
	f := files(t, map[string]string{"t.csv": "a\n1\n2\n"})
	if _, err := f.Rows(t.Context(), "t", "", func(*Row) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the reader becomes %v", err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := f.Rows(ended, "t", "", func(*Row) error { return nil }); !errors.Is(err, stop) {
		t.Errorf("a reading that is ended goes on: %v", err)
	}
	if _, err := OpenFolder(filepath.Join(t.TempDir(), "file")); err == nil || !strings.Contains(err.Error(), "postgres:// address") {
		t.Errorf("a folder that is not there: %v", err)
	}
}
