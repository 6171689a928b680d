package fault

import (
	"unicode/utf8"

	"github.com/tidemark/tidemark/events"
)

// ID is a field of a request that must be an id (DESIGN §3).
type ID struct{ Field, Value string }

// CheckIDs returns the fault of the first bad id, or nil.
func CheckIDs(ids ...ID) error {
	for _, i := range ids {
		switch {
		case i.Value == "":
			return Invalid("%s is missing", i.Field)
		case len(i.Value) > events.MaxIDBytes:
			return Invalid("%s has %d bytes, the limit is %d", i.Field, len(i.Value), events.MaxIDBytes)
		case !utf8.ValidString(i.Value):
			return Invalid("%s is not valid UTF-8", i.Field)
		case !events.ValidID([]byte(i.Value)):
			return Invalid("%s has a control character", i.Field)
		}
	}
	return nil
}
