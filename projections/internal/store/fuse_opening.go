package store

import (
	"errors"
	"os"
	"path"
)

// Hold keeps tables and logs from being removed until release. While a store is opened it is not
// known yet whether what Pebble takes for obsolete is: to a damaged manifest everything is, and
// what is found the second time would be an empty store. If the fuse blows before the release, they
// stay.
func (f *Fuse) Hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holding, f.made = true, false
}

// Release removes what was kept.
func (f *Fuse) Release() {
	f.mu.Lock()
	kept := f.kept
	f.holding, f.kept = false, nil
	f.mu.Unlock()
	for _, name := range kept {
		_ = f.Remove(name) // that it is gone already is fine, all else blows
	}
}

// holds reports whether the file is to stay for now.
func (f *Fuse) holds(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ext := path.Ext(name); !f.holding || (ext != ".sst" && ext != ".log") {
		return false
	}
	f.kept = append(f.kept, name)
	return true
}

// List implements vfs.FS. Pebble lists the directory once more at the end of its opening, when
// goroutines of its own are at work already. If it hears of a failure then it closes what they use
// under their hands, and one of them ends the process. So it does not hear of it: it finishes, and
// is closed in order because the fuse is blown.
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

// Remove implements vfs.FS. That there is no such file is an answer, not a failure.
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
