package obs

import (
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
)

// Bill is a software bill of materials in the form of CycloneDX 1.6, with the modules that a Go
// binary lists.
type Bill struct {
	Format      string          `json:"bomFormat"`
	SpecVersion string          `json:"specVersion"`
	Version     int             `json:"version"`
	Metadata    BillMetadata    `json:"metadata"`
	Components  []BillComponent `json:"components"`
}

// BillMetadata names the binary of the bill.
type BillMetadata struct {
	Component BillComponent `json:"component"`
}

// BillComponent is a module. Its property go:sum is the checksum of go.sum that `go mod verify`
// checks.
type BillComponent struct {
	Type       string         `json:"type"`
	Name       string         `json:"name"`
	Version    string         `json:"version"`
	PURL       string         `json:"purl"`
	Properties []BillProperty `json:"properties,omitempty"`
}

// BillProperty is a further fact about a component.
type BillProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NewBill makes the bill of a build from the data that the linker wrote into the binary: the same
// binary has the same bill. Modules are in the order of their paths; the standard library is one of
// them. A replaced module is listed as the module that is really in the binary.
func NewBill(b Build, info *debug.BuildInfo) Bill {
	main := component("application", info.Main.Path, b.Version, "")
	if b.Revision != "" {
		main.Properties = append(main.Properties, BillProperty{"vcs:revision", b.Revision})
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "-tags", "CGO_ENABLED", "GOARCH", "GOOS", "-trimpath":
			main.Properties = append(main.Properties, BillProperty{"go:" + strings.TrimPrefix(s.Key, "-"), s.Value})
		}
	}
	list := []BillComponent{component("library", "stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, component("library", m.Path, m.Version, m.Sum))
	}
	slices.SortFunc(list, func(a, b BillComponent) int { return strings.Compare(a.Name, b.Name) })
	return Bill{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: BillMetadata{main}, Components: list}
}

func component(kind, path, version, sum string) BillComponent {
	c := BillComponent{Type: kind, Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + url.PathEscape(version)}
	if sum != "" {
		c.Properties = []BillProperty{{"go:sum", sum}}
	}
	return c
}
