package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/internal/letters"
)

type deadlettersListCmd struct {
	letterFlags
	Limit int `default:"100" placeholder:"N" help:"List the newest so many; the counts are over all (${default})."`
}

func (deadlettersListCmd) Help() string {
	return `
Example:

    tidemark deadletters list
    tidemark deadletters list --topic chat.reads --reason invalid_id,no_target --limit 20`
}

// Run lists dead letters, oldest first. With --json there is one object a line, and no limit.
func (c *deadlettersListCmd) Run(a *app) error {
	var list []letters.Letter
	reasons := map[string]int{}
	total := 0
	err := c.each(a, func(l letters.Letter) error {
		if c.JSON {
			return printJSON(a.stdout, l)
		}
		total++
		reasons[l.Reason]++
		l.Record = nil // its value may be large
		list = append(list, l)
		if len(list) >= 2*max(c.Limit, 1)+1000 {
			list = newest(list, c.Limit)
		}
		return nil
	})
	if err != nil || c.JSON {
		return err
	}
	list = newest(list, c.Limit)
	if len(list) > 0 {
		t := newTable("PLACE", "WRITTEN", "REASON", "FROM", "KEY", "BYTES>", "DETAIL")
		for _, l := range list {
			t.row(l.Place(), l.Written.Local().Format("2006-01-02 15:04:05"), l.Reason, l.Origin(), cut(printable(l.Key), 32), l.Bytes, l.Detail)
		}
		if err := t.print(a.stdout); err != nil {
			return err
		}
	}
	counts := make([]string, 0, len(reasons))
	for _, r := range slices.Sorted(maps.Keys(reasons)) {
		counts = append(counts, fmt.Sprintf("%s %d", r, reasons[r]))
	}
	line := plural(total, "dead letter")
	if len(counts) > 0 {
		line += ": " + strings.Join(counts, ", ")
	}
	if len(list) < total {
		line += fmt.Sprintf(" (the newest %d are listed; --limit)", len(list))
	}
	_, err = fmt.Fprintln(a.stdout, line)
	return err
}

// newest are the last n letters by the time they were written.
func newest(list []letters.Letter, n int) []letters.Letter {
	slices.SortStableFunc(list, func(a, b letters.Letter) int { return a.Written.Compare(b.Written) })
	return list[max(0, len(list)-n):]
}
