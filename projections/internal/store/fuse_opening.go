package store

import (
	"errors"
	"os"
	"path"
)

// Hold keeps tables and logs from being removed until Release. While a store opens, a file that
// Pebble considers obsolete may not be: with a damaged manifest Pebble considers all files
// obsolete, and the next attempt would find an empty store. If the fuse blows before Release, the
// files stay.
func (f *Fuse) Hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holding, f.made = true, false
}

// Release removes the files whose removal Hold has put off.
func (f *Fuse) Release() {
	f.mu.Lock()
	kept := f.kept
	f.holding, f.kept = false, nil
	f.mu.Unlock()
	for _, name := range kept {
		_ = f.Remove(name) // a file that is already gone is fine; any other error blows the fuse
	}
}

// holds reports whether the file must stay for now.
func (f *Fuse) holds(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ext := path.Ext(name); !f.holding || (ext != ".sst" && ext != ".log") {
		return false
	}
	f.kept = append(f.kept, name)
	return true
}

// List implements vfs.FS. Pebble lists the directory once more at the end of its opening, when its
// own goroutines are already running. If that fails, Pebble closes resources that they are using,
// and one of them ends the process. So List hides a late failure from Pebble and blows the fuse:
// the opening finishes, and the database is then closed in order.
func (f *Fuse) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	if err == nil {
		return names, nil
	}
	f.mu.Lock()
	late := f.holding && f.made
	f.mu.Unlock()
	if !late {
		return nil, err
	}
	f.Blow(err)
	return nil, nil
}

// Remove implements vfs.FS. A missing file is a result for the caller, not a failure of the disk.
func (f *Fuse) Remove(name string) (err error) {
	if f.holds(name) {
		return nil
	}
	f.do(func() error {
		if err = f.FS.Remove(name); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
