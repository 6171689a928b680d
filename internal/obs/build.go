package obs

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Build describes the running binary.
type Build struct {
	Version  string `json:"version"`  // the name of the release; "devel" for a build without a name
	Revision string `json:"revision"` // of the source, with "+dirty" if it was changed; empty if unknown
	Go       string `json:"go"`
	Platform string `json:"platform"` // os/arch
}

// NewBuild returns the build of this process. version is the linker's value; if it is empty, the
// module's version is used.
func NewBuild(version string) Build {
	b := Build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
	}
	dirty := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+dirty"
			}
		}
	}
	if b.Revision != "" {
		b.Revision += dirty
	}
	return b
}

// String returns the build in one line.
func (b Build) String() string {
	s := "tidemark " + b.Version
	if b.Revision != "" {
		s += " (" + b.Revision + ")"
	}
	return fmt.Sprintf("%s, %s, %s", s, b.Go, b.Platform)
}
