package floors

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// folderOf returns the folder of the root that path is in.
func folderOf(path string) string {
	folder, _, _ := strings.Cut(path, "/")
	return folder
}

// TestTheFoldersStandAboveEachOther: whichever way imports lead from one folder of the root to
// another, they never lead back, so the folders can be drawn with every arrow pointing down.
func TestTheFoldersStandAboveEachOther(t *testing.T) {
	imports := map[string]map[string]string{} // an import, by folder that imports and folder imported
	for _, p := range list(t, "./...") {
		if !p.product() {
			continue
		}
		from := folderOf(p.path())
		for _, path := range p.Imports {
			if rest, ours := strings.CutPrefix(path, module); ours && folderOf(rest) != from {
				if imports[from] == nil {
					imports[from] = map[string]string{}
				}
				imports[from][folderOf(rest)] = p.path() + " imports " + rest
			}
		}
	}
	if len(imports) < 8 {
		t.Fatalf("only %d folders import another", len(imports))
	}
	for _, circle := range foldersInACircle(imports) {
		for i, from := range circle {
			t.Errorf("a circle of folders: %s", imports[from][circle[(i+1)%len(circle)]])
		}
	}
}

// A circle of three folders beside one that is in none.
func TestACircleOfFoldersIsFound(t *testing.T) {
	got := foldersInACircle(map[string]map[string]string{"a": {"b": ""}, "b": {"c": ""}, "c": {"b": "", "d": ""}})
	if len(got) != 1 || strings.Join(got[0], " ") != "b c" {
		t.Errorf("%v", got)
	}
}

// foldersInACircle returns one circle, if there is any: each folder imports the next, and the last
// the first.
func foldersInACircle(imports map[string]map[string]string) [][]string {
	done := map[string]bool{}
	var walk func(way []string) []string
	walk = func(way []string) []string {
		last := way[len(way)-1]
		for _, next := range slices.Sorted(maps.Keys(imports[last])) {
			if i := slices.Index(way, next); i >= 0 {
				return way[i:]
			}
			if !done[next] {
				if circle := walk(append(slices.Clone(way), next)); circle != nil {
					return circle
				}
			}
		}
		done[last] = true
		return nil
	}
	for _, folder := range slices.Sorted(maps.Keys(imports)) {
		if !done[folder] {
			if circle := walk([]string{folder}); circle != nil {
				return [][]string{circle}
			}
		}
	}
	return nil
}
