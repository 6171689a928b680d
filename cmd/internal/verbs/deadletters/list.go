package deadletters

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
)

type listCmd struct {
	letterFlags
	Limit int `default:"100" placeholder:"N" help:"How many to list, newest first; the counts are over all (${default})."`
}

func (listCmd) Help() string {
	return `
Example:

    tidemark deadletters list
    tidemark deadletters list --topic chat.reads --reason invalid_id,no_target --limit 20`
}

// Run lists dead letters, oldest first. With --json there is one object a line, and no limit.
func (c *listCmd) Run(a *verbs.App) error {
	var list []letters.Letter
	reasons := map[string]int{}
	total := 0
	err := c.each(a, func(l letters.Letter) error {
		if c.JSON {
			return term.PrintJSON(a.Stdout, l)
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
		t := term.NewTable("PLACE", "WRITTEN", "CODE", "REASON", "FROM", "KEY", "BYTES>", "DETAIL")
		for _, l := range list {
			t.Row(l.Place(), l.Written.Local().Format("2006-01-02 15:04:05"), l.Code, l.Reason, l.Origin(), term.Cut(term.Printable(l.Key), 32), l.Bytes, l.Detail)
		}
		if err := t.Print(a.Stdout); err != nil {
			return err
		}
	}
	counts := make([]string, 0, len(reasons))
	for _, r := range slices.Sorted(maps.Keys(reasons)) {
		counts = append(counts, fmt.Sprintf("%s %d", term.Printable(r), reasons[r]))
	}
	line := term.Plural(total, "dead letter")
	if len(counts) > 0 {
		line += ": " + strings.Join(counts, ", ")
	}
	if len(list) < total {
		line += fmt.Sprintf(" (the newest %d are listed; --limit)", len(list))
	}
	_, err = fmt.Fprintln(a.Stdout, line)
	return err
}

// newest are the last n letters by the time they were written.
func newest(list []letters.Letter, n int) []letters.Letter {
	slices.SortStableFunc(list, func(a, b letters.Letter) int { return a.Written.Compare(b.Written) })
	return list[max(0, len(list)-n):]
}
