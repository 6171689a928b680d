package events_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
)

// LetterReasons has every reason except the one that stops the partition.
func TestLetterReasonsAreAllReasons(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []events.Reason{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Reason") && v.Names[0].Name != "ReasonNewerVersion" {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, events.Reason(text))
		}
		return true
	})
	if len(want) < 11 || !slices.Equal(events.LetterReasons, want) {
		t.Errorf("LetterReasons is %v, the constants are %v", events.LetterReasons, want)
	}
}
