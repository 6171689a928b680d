package owners

import (
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/position"
)

// About is the subject of a call to partitions.
type About struct {
	user  uint64
	all   bool
	after position.After
}

// User is a call about a user. Partitions that have nothing of them need not be called, except
// those that after names.
func User(id string, after position.After) *About {
	return &About{user: projections.UserHash(id), after: after}
}

// Everything is a call about all partitions, whatever they have.
func Everything() *About { return &About{all: true} }

// asks reports whether after names partition p.
func (a *About) asks(p int32) bool {
	_, is := a.after[p]
	return is
}
