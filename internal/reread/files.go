// Package reread notices that files have changed, for what takes certificates, keys and secrets
// without a restart.
package reread

import (
	"os"
	"slices"
	"time"
)

// Every is the least time between two checks of the files.
const Every = time.Second

// Files tracks files that are read again when they have changed. The caller reads them, and guards
// Files with a lock of its own: call Begin before each reading and Read after it. Between readings,
// Look and Changed report whether another one is due.
type Files struct {
	// Trouble is why the last reading failed. While there is some, Changed is true: what ended the
	// replacing of a file may not show.
	Trouble error

	names   []string
	looked  time.Time
	present []os.FileInfo // just before the last reading; nil for one that could not be looked at
}

// Begin notes how the files are. What changes while they are being read is read once more.
func (f *Files) Begin(now time.Time, names ...string) {
	f.names, f.looked, f.present = names, now, f.present[:0]
	for _, name := range names {
		f.present = append(f.present, stat(name))
	}
}

// Look reports whether it is time to look at the files, once in Every.
func (f *Files) Look(now time.Time) bool {
	if now.Sub(f.looked) < Every {
		return false
	}
	f.looked = now
	return true
}

// Changed reports whether the files seem to differ from those that were read last, or could not be
// used.
func (f *Files) Changed() bool {
	return f.Trouble != nil || !slices.EqualFunc(f.names, f.present, func(name string, was os.FileInfo) bool { return Same(stat(name), was) })
}

// Read notes how a reading ended. It reports whether it failed in another way than the one before,
// which is worth a line.
func (f *Files) Read(err error) (news bool) {
	news = err != nil && (f.Trouble == nil || f.Trouble.Error() != err.Error())
	f.Trouble = err
	return news
}

func stat(name string) os.FileInfo {
	info, _ := os.Stat(name) // reading it says what is wrong
	return info
}

// Same reports whether two checks of a file seem to have seen the same content; nil is no file.
func Same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
