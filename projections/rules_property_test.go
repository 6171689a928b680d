package projections_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/internal/test/script/random"
)

// TestPropertyRules: scripts in which one rule applies all the time: seeded channels, ids that have
// left the index, open time targets, threads that are followed without a live reply, and deliveries
// beside private reads. After every event all answers and deltas are the model's, and any order
// gives the same bytes.
func TestPropertyRules(t *testing.T) {
	for _, rule := range random.Rules() {
		t.Run(rule, func(t *testing.T) {
			share := 5
			if strings.Contains(rule, "another channel") { // long scripts, for which the model takes long
				share = 1
			}
			scriptsOf(t, share, random.DrawRule(rule), func(t *rapid.T, c *random.Case) {
				asTheModel(t, c)
				inAnyOrder(t, c)
				if strings.HasPrefix(rule, "logs that end") {
					withRestarts(t, c)
				}
			})
		})
	}
}
