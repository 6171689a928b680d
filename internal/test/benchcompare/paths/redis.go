package paths

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// empty deletes everything in Redis.
func empty(ctx context.Context, rdb *redis.Client) error {
	if err := rdb.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("empty Redis: %w", err)
	}
	return nil
}

// usedMemory returns the bytes that Redis has in use.
func usedMemory(ctx context.Context, rdb *redis.Client) (int64, error) {
	info, err := rdb.Info(ctx, "memory").Result()
	if err != nil {
		return 0, fmt.Errorf("memory of Redis: %w", err)
	}
	return parseUsedMemory(info)
}

func parseUsedMemory(info string) (int64, error) {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, "used_memory:"); ok {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, fmt.Errorf("no used_memory in what Redis says: %q", info)
}
