package rules

import "github.com/tidemark/tidemark/projections/internal/pending"

// Fold is a state and the rules that change it: the effects of each event on channels, users and
// pairs, and the marks that it leaves.
type Fold struct{ pending.Fold }
