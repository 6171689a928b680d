package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// Declared returns the names that the Go files below a directory declare: types, functions,
// methods, fields, constants and variables.
func Declared(dir string) (map[string]bool, error) {
	names := map[string]bool{}
	var failed error
	err := Files(dir, []string{".go"}, func(path, text string) {
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			failed = err
			return
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				names[fn.Name.Name] = true
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					names[n.Name.Name] = true
				case *ast.ValueSpec:
					note(names, n.Names)
				case *ast.Field:
					note(names, n.Names)
				}
				return true
			})
		}
	})
	if err == nil {
		err = failed
	}
	return names, err
}

func note(names map[string]bool, idents []*ast.Ident) {
	for _, id := range idents {
		names[id.Name] = true
	}
}
