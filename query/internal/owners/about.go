package owners

import (
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/position"
)

// About is what a call asks partitions about.
type About struct {
	user  uint64
	all   bool
	after position.After
}

// User is about a user. Partitions that have nothing of them need not be asked, but for those that
// after names.
func User(id string, after position.After) *About {
	return &About{user: projections.UserHash(id), after: after}
}

// Everything is about all partitions, whoever has what there.
func Everything() *About { return &About{all: true} }

// asks reports whether after names partition p.
func (a *About) asks(p int32) bool {
	_, is := a.after[p]
	return is
}
