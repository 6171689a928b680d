package gateway

// readState answers where all members of a channel stand.
func (g *Gateway) readState(c *conn, id, channelID string) {
	c.sendNow(errorFrame(id, queryError(nil, channelID)))
}
