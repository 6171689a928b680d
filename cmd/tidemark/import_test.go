package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// With --since, the messages before the cut become a count for each channel. A pointer among them
// leaves the number that it left without a cut, and --sample compares that many users.
func TestImportSince(t *testing.T) {
	s, dir := stack(t), t.TempDir()
	day := func(n int) string {
		return time.Now().Add(-time.Duration(n) * 24 * time.Hour).UTC().Format(time.RFC3339)
	}
	files := map[string]string{
		"channels.csv": "channel_id,direct\ngeneral,no\n",
		"members.csv":  "channel_id,user_id,joined_at\n", "messages.csv": "channel_id,message_id,sender_id,posted_at\n",
		"pointers.csv": "channel_id,user_id,seq\ngeneral,ann,8\ngeneral,cem,15\n", "counts.csv": "channel_id,user_id,unread\ngeneral,ann,12\ngeneral,bob,0\ngeneral,cem,5\n",
	}
	for _, user := range []string{"ann", "bob", "cem"} {
		files["members.csv"] += "general," + user + "," + day(300) + "\n"
	}
	for n := range 20 {
		at := day(200 - n)
		if n >= 10 {
			at = day(30 - n)
		}
		files["messages.csv"] += fmt.Sprintf("general,m%d,bob,%s\n", n+1, at)
	}
	for name, text := range files {
		must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	args := []string{"table", "--source", dir, "--brokers", s.Broker}
	out := ok(t, "", append([]string{"import", "--since", "90d"}, args...)...)
	if cut := time.Now().Add(-90 * 24 * time.Hour).Format("2006-01-02"); !strings.Contains(out, "older than") || !strings.Contains(out, cut) || !strings.Contains(out, "a count of 10 messages") {
		t.Errorf("the import does not state its cut:\n%s", out)
	}
	args = append([]string{"compare", "--addr", s.URL}, args...)
	if r := tidemark(t, "", append(args, "--all")...); r.code != exitDone || !strings.HasPrefix(r.out, "3 numbers of 3 users compared") {
		t.Errorf("%+v", r)
	}
	if r := tidemark(t, "", append(args, "--sample", "2")...); r.code != exitDone || !strings.HasPrefix(r.out, "2 numbers of 2 users compared") {
		t.Errorf("a sample: %+v", r)
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
