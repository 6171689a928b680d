package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/importer"
)

// The example of the documentation is imported, and its numbers are there; a second call says that
// it is done, and a new one of the same channels is refused.
func TestImport(t *testing.T) {
	s := stack(t)
	source, brokers := filepath.Join(root, "docs", "import", "example"), s.Broker
	args := []string{"import", "table", "--source", source, "--brokers", brokers}

	var dry importer.Summary
	if err := json.Unmarshal([]byte(ok(t, "", append(args, "--dry-run", "--json")...)), &dry); err != nil {
		t.Fatal(err)
	}
	if !dry.DryRun || dry.Rows["messages"] != 6 || dry.Messages != 9 || len(dry.Problems) != 2 {
		t.Errorf("dry run: %+v", dry)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "import", "table.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines(ok(t, "", args...)) {
		if !strings.HasPrefix(line, "took") && !strings.Contains(string(page), line+"\n") {
			t.Errorf("docs/import/table.md has another output than %q", line)
		}
	}
	for _, c := range []struct{ want, user, channel string }{
		{"unread          3\n", "cem", "general"}, {"unread          1\n", "bob", "general"}, {"unread          1\n", "ann", "general"},
		{"unread          1\n", "ann", "ann-bob"}, {"unread          0\n", "bob", "ann-bob"},
	} {
		eventually(t, c.want, "query", "unread", c.user, c.channel, "--addr", s.URL)
	}
	if r := tidemark(t, "", args...); r.code != exitDone || !strings.Contains(r.errout, "table/import: this import is done") {
		t.Errorf("once more: %+v", r)
	}
	if r := tidemark(t, "", append(args, "--slot", "other")...); r.code != exitFailed || !strings.Contains(r.errout, "add --beside") {
		t.Errorf("into used topics: %+v", r)
	}
}

// What is wrong on the command line is said before anything is read.
func TestImportIsChecked(t *testing.T) {
	for want, args := range map[string][]string{
		"--since \"soon\" is not a duration": {"table", "--source", ".", "--since", "soon"},
		"--since \"-3d\" is not a duration":  {"table", "--source", ".", "--since=-3d"},
		"--mapping belongs to a database":    {"table", "--source", "postgres://h/d"},
		"must be one of \"table\",\"synapse\",\"mattermost\",\"discourse\",\"rocketchat\",\"zulip\",\"tinode\",\"slack\" but got \"irc\"": {"irc", "--source", "postgres://h/d"},
		"--source of mattermost must be the postgres": {"mattermost", "--source", "."},
		"without --mapping":                           {"mattermost", "--source", "postgres://h/d", "--mapping", "m.yml"},
		"--source has a password":                     {"table", "--source", "postgres://u:p@h/d", "--mapping", filepath.Join(root, "docs/import/table.yml")},
	} {
		if r := tidemark(t, "", append([]string{"import"}, args...)...); r.code != exitUsage || !strings.Contains(r.errout, want) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
