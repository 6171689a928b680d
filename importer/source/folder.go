package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder reads files of a folder. A table NAME is in NAME.csv or NAME.ndjson, in the folder itself
// or in its subfolders csv and ndjson.
type Folder struct{ path string }

// OpenFolder checks that the folder exists.
func OpenFolder(path string) (*Folder, error) {
	if err := checkFolder(path, "it is the folder of an export, with messages.csv or messages.ndjson, or a postgres:// address"); err != nil {
		return nil, err
	}
	return &Folder{path}, nil
}

// checkFolder returns an error if there is no such folder. what describes the folder that is
// expected.
func checkFolder(path, what string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("--source %s: %w: %s", path, err, what)
	}
	if !info.IsDir() {
		return fmt.Errorf("--source %s is a file: %s", path, what)
	}
	return nil
}

// Close has nothing to release.
func (f *Folder) Close(context.Context) error { return nil }

// Rows reads the file of a table.
func (f *Folder) Rows(ctx context.Context, table, _ string, fn func(*Row) error) (found bool, err error) {
	for _, name := range []string{table + ".csv", filepath.Join("csv", table+".csv"), table + ".ndjson", filepath.Join("ndjson", table+".ndjson")} {
		file, err := os.Open(filepath.Join(f.path, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("reading the source: %w", err)
		}
		defer file.Close()
		read := readCSV
		if filepath.Ext(name) == ".ndjson" {
			read = readNDJSON
		}
		return true, read(ctx, name, table, file, fn)
	}
	return false, nil
}
