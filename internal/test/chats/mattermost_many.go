package chats

import (
	_ "embed" // of mattermost_many.sql
	"strconv"
	"strings"
)

//go:embed mattermost_many.sql
var mattermostMany string

// MattermostMany returns the SQL of a Mattermost database of about this many rows, at least 20,000.
// Two thirds are posts, the others are members, their history and threads. now is in Unix
// milliseconds.
func MattermostMany(rows, now int64) string {
	fill := []string{"{now}", strconv.FormatInt(now, 10), "{rows}", strconv.FormatInt(rows, 10), "{members}", "80"}
	for name, n := range map[string]int64{"users": rows / 100, "channels": rows / 500, "posts": rows * 68 / 100, "threads": rows * 2 / 100} {
		fill = append(fill, "{"+name+"}", strconv.FormatInt(n, 10))
	}
	return MattermostTables + strings.NewReplacer(fill...).Replace(mattermostMany)
}
