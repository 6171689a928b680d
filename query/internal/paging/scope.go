package paging

// The scopes of page tokens of lists without filters. No user id has a control character.

// ThreadScope is the scope of the list of a user's threads: of listed ones, or of followed ones of
// any age.
func ThreadScope(userID string, anyAge bool) string {
	if anyAge {
		return userID + "\x00followed"
	}
	return userID + "\x00threads"
}

// UserChannelScope is the scope of the list of channels in which a user has a row.
func UserChannelScope(userID string) string { return userID + "\x00channels" }
