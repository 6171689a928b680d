package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// rowsEnv says how many rows TestManyRows imports.
const rowsEnv = "TIDEMARK_TEST_ADOPT_ROWS"

// A generated Mattermost of many rows is imported and compared: none of our numbers is wrong, and
// hardly one differs. It logs what both have cost.
func TestManyRows(t *testing.T) {
	rows := int64(20_000)
	if message := os.Getenv(rowsEnv); message != "" {
		var err error
		if rows, err = strconv.ParseInt(message, 10, 64); err != nil {
			t.Fatalf("%s: %v", rowsEnv, err)
		}
	}
	s, dsn := stack(t), testkit.Postgres(t)
	testkit.SQL(t, dsn, chats.MattermostMany(rows, time.Now().UnixMilli()))
	at := []string{"mattermost", "--source", dsn, "--brokers", s.Broker}
	run := func(verb string, code int, more ...string) string {
		t.Helper()
		begun := time.Now()
		c := begin(t, append(append([]string{verb}, at...), more...)...)
		<-c.ended
		if got := c.cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%s ended with %d, want %d: %s", verb, got, code, c.out.String())
		}
		t.Logf("%s of %d rows: %.1f s, %.1f s of CPU", verb, rows, time.Since(begun).Seconds(), (c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()).Seconds())
		return c.out.String()
	}
	run("import", exitDone)
	out := run("compare", 3, "--addr", s.URL, "--all") // deletions do not lower theirs
	found := regexp.MustCompile(`(?m)^(equal|ours_wrong) +(\d+) +([0-9.]+) %`).FindAllStringSubmatch(out, -1)
	if len(found) != 2 {
		t.Fatalf("compare says\n%.2000s", out)
	}
	if share, err := strconv.ParseFloat(found[0][3], 64); err != nil || share < 97 || found[1][2] != "0" {
		t.Errorf("compare says\n%.2000s", out)
	}
}
