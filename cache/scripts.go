package cache

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/open.lua
	openLua string
	//go:embed lua/advance.lua
	advanceLua string

	openScript    = redis.NewScript(openLua)
	advanceScript = redis.NewScript(advanceLua)
)
