package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/chats"
)

// begun is when the stories of the pages begin: their output is the same each time.
const begun = 1_780_000_000_000

// shown fails if a page lacks a line of an output. Times that a verb took are not compared.
func shown(t *testing.T, page, out string) {
	t.Helper()
	text := document(t, page)
	for _, line := range lines(out) {
		if !strings.HasPrefix(line, "took") && !strings.Contains(text, line+"\n") {
			t.Errorf("%s has another output than\n%s", page, out)
			return
		}
	}
}

// A workspace's export is imported as the page shows it. There is nothing to compare.
func TestImportSlack(t *testing.T) {
	dir := t.TempDir()
	must(chats.PlaySlack(rand.New(rand.NewPCG(7, 41)), begun, 120).Write(dir))
	shown(t, "docs/import/slack.md", ok(t, "", "import", "slack", "--source", dir, "--dry-run"))
	for want, args := range map[string][]string{
		"a Slack export has no unread counts":   {"compare", "slack", "--source", dir},
		"--source of slack is the unpacked":     {"import", "slack", "--source", "postgres://h/d"},
		"there is nothing to compare or to set": {"heal", "slack", "--source", dir},
	} {
		if r := tidemark(t, "", args...); r.code != exitUsage || !strings.Contains(r.errout, want) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
