package compare

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/tidemark/tidemark/importer/product"
)

// TablePolicy is the policy of a team's own tables. Their rules are unknown, so a difference that
// may be intended counts as intended.
var TablePolicy = Policy{
	Rules: map[Cause]Rule{
		Own:        {ByPolicy, "of their own"},
		Deleted:    {TheirsWrong, "deleted, but counted"},
		Silent:     {ByPolicy, "silent"},
		Reply:      {ByPolicy, "in threads"},
		ReadSingly: {ByPolicy, "read singly in Tidemark alone"},
		BeforeJoin: {ByPolicy, "from before they joined"},
		Hidden:     {ByPolicy, "hidden in Tidemark alone"},
	},
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// TableHeal returns the function that fills the templates of a mapping. Its placeholders are the
// ids of a line, as literals, and its numbers.
func TableHeal(mapping product.Mapping) (func(*Line) (statement string, ok bool), error) {
	if mapping["heal"] == "" && mapping["heal_thread"] == "" {
		return nil, errors.New("the mapping has no heal: a template of the statement that corrects a number, with {channel_id}, {user_id}, {unread} " +
			"and {mentions}; docs/import/table.yml has one")
	}
	for _, name := range product.Heals {
		for _, p := range placeholder.FindAllString(mapping[name], -1) {
			if _, known := values(&Line{})[p]; !known {
				return nil, fmt.Errorf("%s has the placeholder %s: there are {channel_id}, {user_id}, {thread_id}, {unread}, {mentions}, {theirs_unread} "+
					"and {theirs_mentions}", name, p)
			}
		}
	}
	return func(l *Line) (string, bool) {
		template := mapping["heal"]
		if l.Thread != "" {
			template = mapping["heal_thread"]
		}
		v := values(l)
		return placeholder.ReplaceAllStringFunc(template, func(p string) string { return v[p] }), template != ""
	}, nil
}

// values returns the values of a template's placeholders.
func values(l *Line) map[string]string {
	number := func(n *int64) string {
		if n == nil {
			return "NULL"
		}
		return strconv.FormatInt(*n, 10)
	}
	return map[string]string{
		"{channel_id}": product.Literal(l.Channel), "{user_id}": product.Literal(l.User), "{thread_id}": product.Literal(l.Thread),
		"{unread}": number(&l.Ours.Unread), "{mentions}": number(l.Ours.Mentions),
		"{theirs_unread}": number(&l.Theirs.Unread), "{theirs_mentions}": number(l.Theirs.Mentions),
	}
}
