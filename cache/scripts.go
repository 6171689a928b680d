package cache

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/unread.lua
	unreadLua string
	//go:embed lua/channels.lua
	channelsLua string
	//go:embed lua/open.lua
	openLua string
	//go:embed lua/advance.lua
	advanceLua string

	unreadScript   = redis.NewScript(unreadLua)
	channelsScript = redis.NewScript(channelsLua)
	openScript     = redis.NewScript(openLua)
	advanceScript  = redis.NewScript(advanceLua)
)
