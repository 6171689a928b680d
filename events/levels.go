package events

// Levels determine what a channel adds to a user's badge (DESIGN §4.7).
type Levels struct {
	Level Level
	Until int64 // Unix milliseconds; 0: Level is permanent
	After Level // applies from Until on; LevelAll without one
}

// At returns the levels at a time: with Until passed, After is the permanent level.
func (l Levels) At(now int64) Levels {
	if l.Until != 0 && now >= l.Until {
		return Levels{Level: l.After}
	}
	return l
}

// LevelNames are the names of the levels in the schema.
var LevelNames = [NumLevels]string{LevelAll: "ALL", LevelMentions: "MENTIONS", LevelNone: "NONE"}
