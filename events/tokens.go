package events

import (
	"strconv"
	"strings"
)

// LatestTokens keeps the token with the highest offset of each topic and partition, in the order of
// their first occurrence. Tokens have the form `topic/partition/offset` (DESIGN §9). A node accepts
// three tokens for each partition at most, while a producer of a thousand events has a thousand
// tokens. LatestTokens keeps malformed tokens unchanged, so that the node can explain what is wrong
// with them.
func LatestTokens(tokens []string) []string {
	var kept []string
	at := map[string]int{}
	for _, token := range tokens {
		i := strings.LastIndexByte(token, '/')
		if i < 0 {
			kept = append(kept, token)
			continue
		}
		where := token[:i]
		j, known := at[where]
		if !known {
			at[where] = len(kept)
			kept = append(kept, token)
			continue
		}
		if offset(token[i+1:]) > offset(kept[j][i+1:]) {
			kept[j] = token
		}
	}
	return kept
}

// offset returns the offset in a token, or -1 if it is not a number.
func offset(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
