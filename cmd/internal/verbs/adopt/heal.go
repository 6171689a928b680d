package adopt

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/importer/compare"
	"github.com/tidemark/tidemark/internal/term"
)

// Heal is `tidemark heal`.
type Heal struct {
	compareFlags
}

// Help is shown below the flags.
func (Heal) Help() string {
	return `
Compares as compare does, and prints statements for the product's database that correct its wrong numbers: those with the result
theirs_wrong. It never runs them. They come in transactions of 1,000, each after a comment with the result of the comparison. Read
them, stop the product or choose a quiet hour, run them, and compare again. For table, the mapping has a template of the
statement: docs/import/table.md.

Example:

    tidemark heal mattermost --source postgres://reader@db/mattermost --topic-prefix v2.
    tidemark heal synapse --source postgres://reader@db/synapse --topic-prefix v2.
    tidemark heal rocketchat --source ./dump/rocketchat --topic-prefix v2. > heal.js
    tidemark heal table --source postgres://reader@db/chat --mapping table.yml --user ann`
}

// heals has the statements of each product.
var heals = map[string]func(*compare.Line) (statement string, ok bool){
	"mattermost": compare.MattermostHeal, "synapse": compare.SynapseHeal, "rocketchat": compare.RocketChatHeal,
	"tinode": compare.TinodeHeal,
}

// dialects has the products whose statements need more than SQL.
var dialects = map[string]compare.Dialect{"rocketchat": compare.Mongosh, "synapse": compare.Synapse}

// storeNothing has the names of products that store no numbers.
var storeNothing = map[string]string{"discourse": "Discourse", "zulip": "Zulip"}

// Validate checks the flags.
func (c *Heal) Validate() error { return c.checkAll() }

// Run prints the statements.
func (c *Heal) Run(a *verbs.App) error {
	mapping, err := c.mapping()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.Stdout)
	h := &compare.Healing{To: out, Statement: heals[c.Product], Dialect: dialects[c.Product]}
	if name := storeNothing[c.Product]; name != "" {
		return verbs.Usagef("%s stores no numbers: it counts messages on each request, so there is nothing to correct", name)
	}
	if c.Product == "table" {
		if !c.database() {
			return verbs.Usagef("--source %s is a folder, whose numbers no statement can correct: name the database", c.Source)
		}
		if h.Statement, err = compare.TableHeal(mapping); err != nil {
			return verbs.Usagef("--mapping %s: %v", c.Mapping, err)
		}
	}
	res, err := c.compare(a, "heal", mapping, 0, h.Add)
	if err == nil {
		err = h.End()
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "tidemark: %s for %s", term.Plural(h.Healed, "statement"), term.Plural(res.Pairs, "number"))
	if h.Left > 0 {
		fmt.Fprintf(a.Stderr, "; %d wrong ones have none", h.Left)
	}
	if n := res.Buckets[compare.OursWrong]; n > 0 {
		fmt.Fprintf(a.Stderr, "; %d were left out because Tidemark's own number is wrong: `tidemark compare` names them", n)
	}
	fmt.Fprintln(a.Stderr)
	warn(a, res)
	return nil
}
