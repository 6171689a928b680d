// Package reread notices changes of files, for code that uses new certificates, keys and secrets
// without a restart.
package reread

import (
	"os"
	"slices"
	"time"
)

// Every is the least time between two checks of the files.
const Every = time.Second

// Files tracks files that are read again after a change. The caller reads them, and guards Files
// with a lock of its own. It calls Begin before each reading and Read after it. Between readings,
// Look and Changed report whether another one is due.
type Files struct {
	// Trouble is the reason why the last reading failed. While it is set, Changed is true, because
	// the end of a replacement may not be visible.
	Trouble error

	names   []string
	looked  time.Time
	present []os.FileInfo // just before the last reading; nil for a file that could not be examined
}

// Begin records the state of the files. A change during the reading causes another reading.
func (f *Files) Begin(now time.Time, names ...string) {
	f.names, f.looked, f.present = names, now, f.present[:0]
	for _, name := range names {
		f.present = append(f.present, stat(name))
	}
}

// Look reports whether it is time to check the files, once in Every.
func (f *Files) Look(now time.Time) bool {
	if now.Sub(f.looked) < Every {
		return false
	}
	f.looked = now
	return true
}

// Changed reports whether the files seem to differ from those of the last reading, or could not be
// used.
func (f *Files) Changed() bool {
	return f.Trouble != nil || !slices.EqualFunc(f.names, f.present, func(name string, was os.FileInfo) bool { return Same(stat(name), was) })
}

// Read records the end of a reading. It reports whether it failed in another way than the one
// before, which deserves a log line.
func (f *Files) Read(err error) (news bool) {
	news = err != nil && (f.Trouble == nil || f.Trouble.Error() != err.Error())
	f.Trouble = err
	return news
}

func stat(name string) os.FileInfo {
	info, _ := os.Stat(name) // reading it reports the error
	return info
}

// Same reports whether two checks of a file seem to have seen the same content; nil is no file.
func Same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
