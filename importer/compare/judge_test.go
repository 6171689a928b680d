package compare

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/importer"
)

func with(unread, mentions int64) Numbers { return Numbers{Unread: unread, Mentions: &mentions} }

func ids(list ...string) (all []Source) {
	for i, id := range list {
		all = append(all, Source{id, importer.Origin{Table: "posts", Row: int64(i + 1)}})
	}
	return all
}

// Each kind of difference has its bucket and its reason.
func TestJudge(t *testing.T) {
	mattermost, table, tinode, synapse := &MattermostPolicy, &TablePolicy, &TinodePolicy, &SynapsePolicy
	for name, c := range map[string]struct {
		policy *Policy
		e      Evidence
		bucket Bucket
		reason string
	}{
		"equal":                         {table, Evidence{Theirs: with(3, 1), Ours: with(3, 1)}, Equal, ""},
		"they have no mentions":         {table, Evidence{Theirs: Numbers{Unread: 3}, Ours: with(3, 1)}, Equal, ""},
		"own after a mark":              {mattermost, Evidence{Theirs: with(3, 0), Ours: with(1, 0), Excluded: Excluded{Own: 2}}, ByPolicy, "2 of their own"},
		"deleted":                       {mattermost, Evidence{Theirs: with(2, 0), Ours: with(0, 0), Excluded: Excluded{Deleted: 2}}, TheirsWrong, "2 deleted, but counted"},
		"both":                          {mattermost, Evidence{Theirs: with(3, 0), Ours: with(0, 0), Excluded: Excluded{Deleted: 2, Own: 1}}, TheirsWrong, "1 of their own: marking unread counts these there, 2 deleted, but counted"},
		"system messages":               {table, Evidence{Theirs: with(5, 0), Ours: with(3, 0), Excluded: Excluded{Silent: 4}}, ByPolicy, "2 silent"},
		"never viewed":                  {table, Evidence{Theirs: with(9, 0), Ours: with(0, 0), Excluded: Excluded{BeforeJoin: 9}}, ByPolicy, "9 from before they joined"},
		"replies":                       {table, Evidence{Theirs: with(4, 0), Ours: with(3, 0), Excluded: Excluded{Reply: 1}}, ByPolicy, "1 in threads"},
		"negative":                      {mattermost, Evidence{Theirs: with(-2, 0), Ours: with(0, 0)}, TheirsWrong, "negative"},
		"negative mentions":             {mattermost, Evidence{Theirs: with(0, -1), Ours: with(0, 0)}, TheirsWrong, "negative mentions"},
		"more mentions than any":        {mattermost, Evidence{Theirs: with(2, 3), Ours: with(2, 0)}, TheirsWrong, "3 mentions in 2 unread messages"},
		"the best of a distance":        {tinode, Evidence{Theirs: with(4, 0), Ours: with(1, 0), Rows: &Recount{Unread: 1, ToEnd: 4, Excluded: Excluded{Deleted: 3}}}, NotComparable, "3 deleted, but counted: their number has all that follows"},
		"a distance too large":          {tinode, Evidence{Theirs: with(5, 0), Ours: with(1, 0), Rows: &Recount{Unread: 1, ToEnd: 4, Excluded: Excluded{Deleted: 4}}}, TheirsWrong, "4 deleted, but counted"},
		"a distance, all read":          {tinode, Evidence{Theirs: with(3, 0), Ours: with(0, 0), Excluded: Excluded{Deleted: 3}}, TheirsWrong, "3 deleted, but counted"},
		"hidden in Tidemark alone":      {synapse, Evidence{Thread: true, Theirs: with(1, 0), Ours: with(0, 0), Excluded: Excluded{Hidden: 1}, Rows: &Recount{Unread: 1}}, ByPolicy, "1 hidden in Tidemark alone"},
		"read singly in Tidemark alone": {synapse, Evidence{Thread: true, Theirs: with(2, 0), Ours: with(1, 0), Excluded: Excluded{ReadSingly: 1}, Rows: &Recount{Unread: 2}}, ByPolicy, "1 read singly in Tidemark alone"},
		"not read singly there":         {synapse, Evidence{Thread: true, Theirs: with(2, 0), Ours: with(1, 0), Excluded: Excluded{ReadSingly: 1}, Rows: &Recount{Unread: 2, Excluded: Excluded{ReadSingly: 1}}}, OursWrong, ""},
		"policy explains as much":       {synapse, Evidence{Thread: true, Theirs: with(1, 0), Ours: with(0, 0), Rows: &Recount{Excluded: Excluded{Deleted: 1, BeforeJoin: 1}}}, ByPolicy, "1 from before they joined again"},
		"without the rows":              {synapse, Evidence{Theirs: with(1, 0), Ours: with(0, 0), Excluded: Excluded{Silent: 1}}, ByPolicy, "1 notices"},
		"keywords":                      {mattermost, Evidence{Theirs: with(2, 1), Ours: with(2, 0)}, ByPolicy, "mentions by keywords"},
		"own and mentions":              {mattermost, Evidence{Theirs: with(2, 1), Ours: with(1, 0), Excluded: Excluded{Own: 1}}, ByPolicy, "1 of their own"},
		"silent that mention":           {table, Evidence{Theirs: with(2, 2), Ours: with(1, 1), Excluded: Excluded{Silent: 1}}, ByPolicy, "1 silent"},
		"own, too many mentions":        {mattermost, Evidence{Theirs: with(2, 9), Ours: with(1, 0), Excluded: Excluded{Own: 1}}, TheirsWrong, "1 of their own: marking unread counts these there; 9 mentions in 2 unread messages"},
		"after leaving":                 {table, Evidence{Theirs: with(4, 0), Ours: with(0, 0), Rows: &Recount{Left: true}}, TheirsWrong, "after leaving"},
		"deleted before --since":        {table, Evidence{Theirs: with(4, 0), Ours: with(3, 0), Rows: &Recount{Unread: 3, Excluded: Excluded{Deleted: 1}}}, TheirsWrong, "1 deleted, but counted"},
		"stale":                         {table, Evidence{Theirs: with(4, 0), Ours: with(7, 0), Rows: &Recount{Unread: 7}}, TheirsWrong, "stale: their own rows have 7"},
		"capped":                        {table, Evidence{Theirs: with(99, 0), Ours: with(120, 0), Rows: &Recount{Unread: 120}}, TheirsWrong, "capped: their own rows have 120"},
		"the channel ended":             {mattermost, Evidence{Theirs: with(4, 0), Rows: &Recount{Ended: true}}, NotComparable, "the channel is deleted"},
		"input missing":                 {table, Evidence{Theirs: with(3, 0), Ours: with(1, 0), Messages: []string{"a"}, Rows: &Recount{Unread: 3, Messages: ids("a", "b", "c")}}, OursWrong, "their rows have 3, input missing: b (posts:2), c (posts:3)"},
		"content that is gone":          {table, Evidence{Theirs: with(3, 0), Ours: with(1, 0), Messages: []string{"c"}, Rows: &Recount{Unread: 3, Emptied: true, Messages: ids("a", "b", "c")}}, NotComparable, "has lost its content, so its thread and its mentions are unknown: their rows have 3"},
		"too old to be named":           {table, Evidence{Theirs: with(1, 0), Ours: with(3, 0), Unnamed: 2, Rows: &Recount{Unread: 1, Excluded: Excluded{ReadSingly: 4}}}, ByPolicy, "2 less: read singly, but too old"},
		"many missing":                  {table, Evidence{Theirs: with(5, 0), Ours: with(0, 0), Rows: &Recount{Unread: 5, Messages: ids("a", "b", "c", "d", "e")}}, OursWrong, "a (posts:1), b (posts:2), c (posts:3) and 2 more"},
		"too many":                      {table, Evidence{Theirs: with(0, 0), Ours: with(1, 0), Messages: []string{"x"}, Rows: &Recount{}}, OursWrong, "their rows have 0, not there: x"},
		"unknown ids":                   {table, Evidence{Theirs: with(3, 0), Ours: with(2, 0), Unnamed: 2, Rows: &Recount{Unread: 3, Messages: ids("a", "b", "c")}}, OursWrong, "their rows have 3"},
		"stale mentions":                {table, Evidence{Theirs: with(3, 2), Ours: with(3, 1), Rows: &Recount{Unread: 3, Mentions: 1}}, TheirsWrong, "mentions: their own rows have 1"},
		"our mentions":                  {table, Evidence{Theirs: with(3, 2), Ours: with(3, 1), Rows: &Recount{Unread: 3, Mentions: 2}}, OursWrong, "mentions: their rows have 2"},
		"mentions before --since":       {table, Evidence{Theirs: with(3, 2), Ours: with(3, 1), Unnamed: 2, Rows: &Recount{Unread: 3, Mentions: 2}}, ByPolicy, "older than the import's --since"},
	} {
		c.e.Known = name != "the channel ended"
		b, reason, ok := c.policy.Judge(&c.e)
		if b != c.bucket || !strings.Contains(reason, c.reason) || !ok {
			t.Errorf("%s: %s: %s, %v; want %s: %s", name, b, reason, ok, c.bucket, c.reason)
		}
	}
}

// Without the source's rows no side is guessed to be wrong.
func TestJudgeAsksForRows(t *testing.T) {
	for name, e := range map[string]Evidence{
		"an unknown channel": {Theirs: with(4, 0), Ours: with(0, 0)},
		"theirs is lower":    {Theirs: with(1, 0), Ours: with(2, 0), Known: true, Excluded: Excluded{Deleted: 1}},
		"causes do not fit":  {Theirs: with(9, 0), Ours: with(2, 0), Known: true, Excluded: Excluded{Deleted: 1, Own: 2}},
		"mentions differ":    {Theirs: with(2, 1), Ours: with(2, 0), Known: true},
	} {
		if b, reason, ok := TablePolicy.Judge(&e); ok {
			t.Errorf("%s: %s: %s", name, b, reason)
		}
	}
	for name, e := range map[string]Evidence{
		"wrong, by the node's reasons": {Thread: true, Theirs: with(2, 0), Ours: with(1, 0), Known: true, Excluded: Excluded{Deleted: 1}},
		"policy, by these":             {Thread: true, Theirs: with(2, 0), Ours: with(1, 0), Known: true, Excluded: Excluded{BeforeJoin: 1}},
	} {
		if b, reason, ok := SynapsePolicy.Judge(&e); ok {
			t.Errorf("a thread of Synapse, %s: %s: %s", name, b, reason)
		}
	}
	unknown := Evidence{Theirs: with(0, 0), Ours: with(0, 0), Rows: &Recount{Unread: 2, Messages: ids("a", "b")}}
	if b, reason, _ := TablePolicy.Judge(&unknown); b != OursWrong || !strings.Contains(reason, "does not have the channel") {
		t.Errorf("a channel that is missing: %s: %s", b, reason)
	}
	unknown.Rows = &Recount{}
	if b, reason, _ := TablePolicy.Judge(&unknown); b != Equal {
		t.Errorf("a channel without messages: %s: %s", b, reason)
	}
}

// Of all sets of causes that add up, the result is the smallest one.
func TestFewestCauses(t *testing.T) {
	_, reason, ok := TablePolicy.explain(3, Excluded{Own: 1, Deleted: 2, Silent: 3}, false)
	if !ok || reason != "3 silent" {
		t.Errorf("%q, %v", reason, ok)
	}
	b, reason, ok := TablePolicy.explain(6, Excluded{Own: 1, Deleted: 2, Silent: 3}, false)
	if !ok || b != TheirsWrong || !strings.Contains(reason, "2 deleted") {
		t.Errorf("%s: %q, %v", b, reason, ok)
	}
	if _, reason, ok := TablePolicy.explain(1, Excluded{Deleted: 2, Silent: 1}, false); !ok || reason != "1 silent" {
		t.Errorf("all of one cause comes before a part of another: %q, %v", reason, ok)
	}
	if _, reason, ok := TablePolicy.explain(7, Excluded{Own: 1, Deleted: 2, Silent: 3}, false); ok {
		t.Errorf("7 of 6: %q", reason)
	}
	if _, reason, ok := (&Policy{}).explain(1, Excluded{Own: 1}, false); ok {
		t.Errorf("without rules: %q", reason)
	}
}

// A number that counts only mentions is compared with Tidemark's mentions, and with those of the
// rows.
func TestJudgeOnlyMentions(t *testing.T) {
	theirs := func(unread, mentions int64) Numbers {
		return Numbers{Unread: unread, Mentions: &mentions, onlyMentions: true}
	}
	rows := func(unread, mentions int64) *Recount { return &Recount{Unread: unread, Mentions: mentions} }
	marked := rows(4, 2)
	marked.Less[Marked] = 4
	gone := rows(0, 0)
	gone.Left = true
	for name, c := range map[string]struct {
		e      Evidence
		bucket Bucket
		reason string
	}{
		"the same mentions": {Evidence{Theirs: theirs(2, 2), Ours: with(5, 2)}, ByPolicy, "only mentions"},
		"negative":          {Evidence{Theirs: theirs(-2, 0), Ours: with(5, 0)}, TheirsWrong, "negative"},
		"too few":           {Evidence{Theirs: theirs(1, 1), Ours: with(5, 2), Rows: rows(5, 2)}, TheirsWrong, "stale: their own rows have 2 that mention"},
		"too many":          {Evidence{Theirs: theirs(9, 9), Ours: with(5, 2), Rows: rows(5, 2)}, TheirsWrong, "stale"},
		"highlights":        {Evidence{Theirs: theirs(4, 4), Ours: with(5, 2), Rows: rows(5, 2)}, ByPolicy, "highlights"},
		"marked":            {Evidence{Theirs: theirs(0, 0), Ours: with(4, 2), Rows: marked}, ByPolicy, "2 less: marked as unread"},
		"after leaving":     {Evidence{Theirs: theirs(3, 3), Ours: with(0, 0), Rows: gone}, TheirsWrong, "after leaving"},
		"ours":              {Evidence{Theirs: theirs(3, 3), Ours: with(5, 2), Rows: rows(5, 3)}, OursWrong, "their rows have 5"},
		"before --since":    {Evidence{Theirs: theirs(3, 3), Ours: with(5, 2), Unnamed: 2, Rows: rows(5, 3)}, ByPolicy, "--since"},
	} {
		c.e.Known = true
		b, reason, ok := RocketChatPolicy.Judge(&c.e)
		if b != c.bucket || !strings.Contains(reason, c.reason) || !ok {
			t.Errorf("%s: %s: %s, %v; want %s: %s", name, b, reason, ok, c.bucket, c.reason)
		}
	}
	if b, reason, ok := RocketChatPolicy.Judge(&Evidence{Known: true, Theirs: theirs(1, 1), Ours: with(5, 2)}); ok {
		t.Errorf("without rows: %s: %s", b, reason)
	}
	capped := Evidence{Known: true, Theirs: Numbers{Unread: 70, capped: true}, Ours: with(120, 0), Rows: rows(120, 0)}
	if b, reason, _ := TablePolicy.Judge(&capped); b != TheirsWrong || reason != "capped: their own rows have 120" {
		t.Errorf("a product that has stopped counting: %s: %s", b, reason)
	}
}
