package query

import (
	"unicode/utf8"

	"github.com/tidemark/tidemark/events"
)

// id is a field of a request that must be an id (DESIGN §3).
type id struct{ field, value string }

func checkIDs(ids ...id) error {
	for _, i := range ids {
		switch {
		case i.value == "":
			return invalid("%s is missing", i.field)
		case len(i.value) > events.MaxIDBytes:
			return invalid("%s has %d bytes, the limit is %d", i.field, len(i.value), events.MaxIDBytes)
		case !utf8.ValidString(i.value):
			return invalid("%s is not valid UTF-8", i.field)
		case !events.ValidID([]byte(i.value)):
			return invalid("%s has a control character", i.field)
		}
	}
	return nil
}

// partitionOf is the input partition of a channel, of n.
func partitionOf(channelID string, n int32) int32 { return events.PartitionOf([]byte(channelID), n) }
