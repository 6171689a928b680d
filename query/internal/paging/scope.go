package paging

// What page tokens are bound to, of lists that have no filter. No user id has a control character.

// ThreadScope is the scope of a user's listed threads, or of those that they follow, of any age.
func ThreadScope(userID string, anyAge bool) string {
	if anyAge {
		return userID + "\x00followed"
	}
	return userID + "\x00threads"
}

// UserChannelScope is the scope of the channels in which anything is known of a user.
func UserChannelScope(userID string) string { return userID + "\x00channels" }
