package docs

import (
	"reflect"
	"testing"
)

func TestBlocks(t *testing.T) {
	page := "# A\n\n```sh\nls\n```\n\n1. In a list:\n\n   ```console\n   $ cat <<'END'\n   $ a\n   END\n   $ a\n   $ echo b \\\n       c\n   b c\n   ```\n\n```\nd\n```\n"
	want := []Block{
		{Page: "a.md", Line: 3, Language: "sh", Text: "ls\n"},
		{Page: "a.md", Line: 9, Language: "console", Text: "$ cat <<'END'\n$ a\nEND\n$ a\n$ echo b \\\n    c\nb c\n"},
		{Page: "a.md", Line: 19, Text: "d\n"},
	}
	got := Blocks("a.md", page)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	steps := []Step{{Command: "cat <<'END'\n$ a\nEND\n"}, {Command: "a\n"}, {Command: "echo b \\\n    c\n", Prints: "b c\n"}}
	if got := Steps(want[1].Text); !reflect.DeepEqual(got, steps) {
		t.Errorf("got  %q\nwant %q", got, steps)
	}
	if got, want := got[1].Commands(), "cat <<'END'\n$ a\nEND\na\necho b \\\n    c\n"; got != want {
		t.Errorf("commands are %q, want %q", got, want)
	}
}
