package adopt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/importer/compare"
	"github.com/tidemark/tidemark/internal/term"
)

// Compare is `tidemark compare`.
type Compare struct {
	compareFlags
	verbs.JSONFlag
	followFlags
	Sample int  `default:"1000" placeholder:"N" help:"Compare the numbers of this many users, the same ones each time (${default})."`
	All    bool `help:"Compare the numbers of all users."`
}

// Help is shown below the flags.
func (Compare) Help() string {
	return `
Reads another chat product's numbers for its users, and Tidemark's, and explains each difference:

    equal           both numbers are the same
    policy          the product intentionally counts something else
    theirs_wrong    the product's number contradicts its own rows
    ours_wrong      Tidemark's number is wrong, or an input is missing: the messages are named
    not_comparable  one side has no such number
    moved           the number was different each time it was read

It only reads both sides. It reads differing numbers again, so that a change in between does not count as a difference. The
exit code is 3 if a number of either side is wrong. docs/import has a page for each product.

With --follow it repeats the comparison, and serves the numbers of each bucket as metrics, for the days in which both products run
side by side. The log has a line for each round. With --json it prints each number that has another difference than before.

Example:

    tidemark compare table --source ./export
    tidemark compare table --source postgres://reader@db/chat --mapping table.yml --user ann --json
    tidemark compare mattermost --source postgres://reader@db/mattermost --topic-prefix v2. --all
    tidemark compare mattermost --source postgres://reader@db/mattermost --topic-prefix v2. --follow --listen 127.0.0.1:8083`
}

// Validate checks the flags.
func (c *Compare) Validate() error {
	if c.Sample < 1 {
		return fmt.Errorf("--sample %d: it must be at least 1; --all compares all", c.Sample)
	}
	if err := c.check(); err != nil {
		return err
	}
	return c.checkAll()
}

// Run compares and prints the result.
func (c *Compare) Run(a *verbs.App) error {
	mapping, err := c.mapping()
	if err != nil {
		return err
	}
	var lines []compare.Line
	sample := c.Sample
	if c.All {
		sample = 0
	}
	if c.Follow {
		return c.follow(a, mapping, sample)
	}
	res, err := c.compare(a, "compare", mapping, sample, func(l *compare.Line) error {
		if c.JSON {
			return term.PrintJSON(a.Stdout, l)
		}
		if l.Bucket != compare.Equal {
			lines = append(lines, *l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	warn(a, res)
	if !c.JSON {
		if err := printComparison(a, res, lines); err != nil {
			return err
		}
	}
	if res.Buckets[compare.TheirsWrong]+res.Buckets[compare.OursWrong] > 0 {
		return verbs.ErrDifferences
	}
	return nil
}

// warn says what the source could not tell, although it explains differences.
func warn(a *verbs.App, res *compare.Result) {
	if res.Unknown != "" {
		fmt.Fprintf(a.Stderr, "tidemark: numbers called stale may lack what came while their user had muted the channel: %s\n", res.Unknown)
	}
}

// byBucket orders lines by bucket, then by user, channel and thread.
func byBucket(a, b compare.Line) int {
	return cmp.Or(cmp.Compare(slices.Index(compare.Buckets, a.Bucket), slices.Index(compare.Buckets, b.Bucket)),
		cmp.Compare(a.User, b.User), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Thread, b.Thread))
}

// printComparison prints a histogram and the numbers that differ.
func printComparison(a *verbs.App, res *compare.Result, lines []compare.Line) error {
	fmt.Fprintf(a.Stdout, "%s of %s compared\n\n", term.Plural(res.Pairs, "number"), term.Plural(res.Users, "user"))
	t := term.NewTable("BUCKET", "NUMBERS>", "SHARE>")
	for _, b := range compare.Buckets {
		t.Row(b, res.Buckets[b], fmt.Sprintf("%.2f %%", 100*float64(res.Buckets[b])/float64(max(res.Pairs, 1))))
	}
	if err := t.Print(a.Stdout); err != nil {
		return err
	}
	if len(lines) > 0 {
		slices.SortFunc(lines, byBucket)
		fmt.Fprintln(a.Stdout)
		t = term.NewTable("BUCKET", "USER", "CHANNEL", "THREAD", "THEIRS>", "OURS>", "REASON")
		for i := range lines {
			l := &lines[i]
			t.Row(l.Bucket, term.Printable(l.User), term.Printable(l.Channel), term.Printable(l.Thread), l.Theirs, l.Ours, term.Printable(l.Reason))
		}
		if err := t.Print(a.Stdout); err != nil {
			return err
		}
	}
	for _, p := range res.Problems {
		fmt.Fprintf(a.Stdout, "%s: %s\n", term.Plural(p.Count, "row"), term.Printable(p.Reason))
	}
	return nil
}
