package events

// Levels say how a channel enters a user's badge (DESIGN §4.7).
type Levels struct {
	Level Level
	Until int64 // Unix milliseconds; 0: Level is for good
	After Level // that holds from Until on; LevelAll without one
}

// At is what holds at a time, and what comes after it.
func (l Levels) At(now int64) Levels {
	if l.Until != 0 && now >= l.Until {
		return Levels{Level: l.After}
	}
	return l
}

// LevelNames are the names of the levels in the schema.
var LevelNames = [NumLevels]string{LevelAll: "ALL", LevelMentions: "MENTIONS", LevelNone: "NONE"}
