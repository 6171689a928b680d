package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var (
	verdict   = regexp.MustCompile(`(?m)^(policy|theirs_wrong|not_comparable)  +\S+  +\S+  +\S+  +-?\d+(?: \(\d+ @\))?  +-?\d+(?: \(\d+ @\))?  (.+)$`)
	leftovers = regexp.MustCompile(`^[\d ,;:]*$`)
)

// defect is a row of docs/import/defects.md.
type defect struct{ product, bucket, reason, test string }

// defects returns the rows of a page.
func defects(page string) (rows []defect, err error) {
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if !strings.HasPrefix(line, "| ") || cells[0] == "product" {
			continue
		}
		if len(cells) != 5 {
			return nil, fmt.Errorf("a row without five cells: %s", line)
		}
		rows = append(rows, defect{cells[0], strings.Trim(cells[2], "`"), strings.Trim(cells[3], "`"), strings.Trim(cells[4], "`")})
	}
	return rows, nil
}

// pattern matches the reason in a line. It has a number for each …, and one after "have".
func (d *defect) pattern() *regexp.Regexp {
	text := strings.ReplaceAll(regexp.QuoteMeta(d.reason), "…", `\d+`)
	return regexp.MustCompile(strings.Replace(text, "rows have", `rows have \d+(?: that mention the user)?`, 1))
}

// undescribed returns the verdicts of a product's page whose reasons the rows do not have, and the
// rows that no verdict shows.
func undescribed(product, page string, rows []defect) (missing []string) {
	shown := map[int]bool{}
	for _, m := range verdict.FindAllStringSubmatch(page, -1) {
		rest := m[2]
		for i, d := range rows {
			if at := d.pattern(); d.product == product && at.MatchString(m[2]) {
				rest = at.ReplaceAllString(rest, "")
				shown[i] = shown[i] || d.bucket == m[1]
			}
		}
		if !leftovers.MatchString(rest) {
			missing = append(missing, fmt.Sprintf("no row has %q of %q", rest, m[0]))
		}
	}
	for i, d := range rows {
		if d.product == product && !shown[i] {
			missing = append(missing, fmt.Sprintf("no output shows %s: %s", d.bucket, d.reason))
		}
	}
	return missing
}

// Each known defect of a product names the test that shows it. The product's page has the test's
// output, with the bucket and the reason of the defect. Each reason there has a row.
func TestDefectsAreShown(t *testing.T) {
	all := pages(t)
	rows, err := defects(all["docs/import/defects.md"])
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	err = Files(Root+"/cmd/tidemark", []string{"_test.go"}, func(_, text string) {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllStringSubmatch(text, -1) {
			tests[m[1]] = true
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	products := map[string]bool{}
	for _, d := range rows {
		if products[d.product] = true; !tests[d.test] {
			t.Errorf("no test has the name %s", d.test)
		}
	}
	for _, product := range []string{"Synapse", "Mattermost", "Rocket.Chat", "Discourse", "Zulip", "Tinode"} {
		page := all["docs/import/"+strings.ReplaceAll(strings.ToLower(product), ".", "")+".md"]
		if !products[product] || page == "" {
			t.Errorf("%s has no row, or no page", product)
		}
		for _, m := range undescribed(product, page, rows) {
			t.Errorf("%s: %s", product, m)
		}
	}
	rows = append(rows[:1:1], defect{"Synapse", "policy", "notices", "TestHealSynapse"})
	page := "policy  ann   c  -   2 (1 @)  1  1 notices\npolicy  ann   c  -   2  1  1 of their own\n"
	if got := undescribed("Synapse", page, rows); len(got) != 2 || !strings.Contains(got[0], "of their own") || !strings.Contains(got[1], "redacted") {
		t.Errorf("%q", got)
	}
}
