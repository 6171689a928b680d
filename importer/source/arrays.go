package source

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Arrays reads files that are JSON arrays of objects. A table NAME is the file NAME.json, or all
// such files of the folder NAME, in the order of their names.
type Arrays struct{ path string }

// OpenArrays checks that the folder exists.
func OpenArrays(path string) (*Arrays, error) {
	if err := checkFolder(path, "it is the unpacked folder of an export"); err != nil {
		return nil, err
	}
	return &Arrays{path}, nil
}

// Close has nothing to release.
func (a *Arrays) Close(context.Context) error { return nil }

// Rows reads the files of a table. A row has the name of its file as its table, and its number in
// that file.
func (a *Arrays) Rows(ctx context.Context, table, _ string, fn func(*Row) error) (found bool, err error) {
	if !filepath.IsLocal(table) {
		return false, nil // the export itself names its folders
	}
	names := []string{table + ".json"}
	info, err := os.Stat(filepath.Join(a.path, table))
	if err == nil && info.IsDir() {
		if names, err = fs.Glob(os.DirFS(a.path), escape(filepath.ToSlash(table))+"/*.json"); err != nil {
			return false, fmt.Errorf("reading the source: %w", err)
		}
		found = true // even if the folder has no file
	}
	for _, name := range names {
		file, err := os.Open(filepath.Join(a.path, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return found, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading the source: %w", err)
		}
		found = true
		err = readArray(ctx, name, file, fn)
		_ = file.Close() // it was only read
		if err != nil {
			return true, err
		}
	}
	return found, nil
}

// escape returns the pattern that matches just this name.
func escape(name string) string {
	var b []byte
	for i := range len(name) {
		switch name[i] {
		case '*', '?', '[', '\\':
			b = append(b, '\\')
		}
		b = append(b, name[i])
	}
	return string(b)
}

// readArray reads one file: each element of its array is a row.
func readArray(ctx context.Context, name string, from io.Reader, fn func(*Row) error) error {
	d := json.NewDecoder(bufio.NewReaderSize(from, 1<<20))
	row := &Row{Table: name[:len(name)-len(".json")]}
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return fmt.Errorf("%s is not a JSON array of objects", name)
	}
	for d.More() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var object map[string]json.RawMessage
		row.Number++
		if err := d.Decode(&object); err != nil {
			return fmt.Errorf("%s: element %d is not a JSON object: %w", name, row.Number, err)
		}
		if err := row.take(object); err != nil {
			return fmt.Errorf("%s: element %d: %w", name, row.Number, err)
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("%s ends within its array: was it copied whole?", name)
	}
	return nil
}
