package platforms

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/tools/go/packages"
)

// TestTypes checks the command on the systems of its users and developers, and the client on those of
// its own.
func TestTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("checks the types of all that Tidemark imports")
	}
	const command, client = "../../..", "../../../client"
	for _, tt := range []struct{ system, dir string }{
		{"darwin", command},
		{"windows", command},
		{"windows", client},
	} {
		t.Run(tt.system+" "+tt.dir, func(t *testing.T) {
			loaded, errs := load(t, tt.dir, tt.system)
			if len(loaded) == 0 || len(errs) > 0 {
				t.Errorf("%d packages: %v", len(loaded), errs)
			}
		})
	}
}

// TestFinds: what a system does not have is an error.
func TestFinds(t *testing.T) {
	if testing.Short() {
		t.Skip("checks the types of packages syscall and os")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.24\n",
		"above.go":       "package m\n\nimport \"example.com/m/below\"\n\nvar _ = below.Kill\n",
		"below/below.go": "package below\n\nimport \"syscall\"\n\nfunc Kill() error { return syscall.Kill(1, syscall.SIGKILL) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		system string
		errors int
	}{{"linux", 0}, {"darwin", 0}, {"windows", 1}} {
		if _, errs := load(t, dir, tt.system); len(errs) != tt.errors {
			t.Errorf("%s: %v, want %d errors", tt.system, errs, tt.errors)
		}
	}
}

// load returns the packages below a folder as a system compiles them, and the errors in them and in
// all that they import.
func load(t *testing.T, dir, system string) (loaded []*packages.Package, errs []packages.Error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	loaded, err := packages.Load(&packages.Config{
		Context: ctx,
		Mode:    packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Dir:     dir,
		Env:     append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly"),
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	packages.Visit(loaded, nil, func(p *packages.Package) { errs = append(errs, p.Errors...) })
	return loaded, errs
}
