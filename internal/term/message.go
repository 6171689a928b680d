package term

import (
	"fmt"
	"strings"
)

// Reference is a message for people: its id and seq, "-" for none.
func Reference(id string, seq uint32) string {
	switch {
	case seq == 0 && id == "":
		return "-"
	case id == "":
		return fmt.Sprintf("seq %d", seq)
	}
	return fmt.Sprintf("%s (seq %d)", id, seq)
}

// ShortRef names a message by its seq, and by its id if that is short.
func ShortRef(id string, seq uint32) string {
	if seq == 0 && id == "" {
		return ""
	}
	if id == "" || len(id) > 24 {
		return fmt.Sprintf("#%d", seq)
	}
	return strings.TrimSpace(fmt.Sprintf("#%d %s", seq, id))
}

// MessageList lists the messages of a number, and the count of those without an id.
func MessageList(ids []string, unnamed, unread uint32) string {
	var named []string
	if unnamed > 0 {
		named = append(named, fmt.Sprintf("%d without an id (seeded, or older than the index)", unnamed))
	}
	named = append(named, ids...)
	if more := int(unread) - int(unnamed) - len(ids); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	if len(named) == 0 {
		return "-"
	}
	return strings.Join(named, " ")
}

// Yes returns b as a word.
func Yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
