-- Applies records of tidemark.channels.
--
-- KEYS  channel-latest:<channel>, each once
-- ARGV  [1] seconds for which the stamp of a deleted channel is kept; then for each key: action and stamp f.m, and where
--       the action is 1 the twelve values of the hash in the order of DESIGN section 8
--
-- action  1: write, 0: the channel was deleted, 4: the record was a tombstone
--
-- The hash has no field for the stamp; it stands in channel-stamp:<channel>.
-- Returns how many records were applied.

local call, match, int = redis.call, string.match, tonumber
local a, applied = 2, 0
for k = 1, #KEYS do
  local key = KEYS[k]
  local guard = 'channel-stamp:' .. string.sub(key, 16)
  local action, stamp = ARGV[a], ARGV[a + 1]
  local v = a + 2
  a = action == '1' and v + 12 or v
  local of, om = match(call('GET', guard) or '', '^(%d+)%.(%d+)$')
  local f, m = match(stamp, '^(%d+)%.(%d+)$')
  if action == '4' then
    call('DEL', key, guard)
    applied = applied + 1
  elseif not (of and int(of) >= int(f) and int(om) >= int(m)) then
    applied = applied + 1
    if action == '1' then
      call('HSET', key, 'latest_id', ARGV[v], 'latest_at', ARGV[v + 1], 'latest_sender', ARGV[v + 2],
        'latest_preview', ARGV[v + 3], 'message_seq', ARGV[v + 4], 'message_pos', ARGV[v + 5],
        'holes', ARGV[v + 6], 'holes_floor', ARGV[v + 7], 'alls', ARGV[v + 8], 'alls_floor', ARGV[v + 9],
        'purged_pos', ARGV[v + 10], 'member_count', ARGV[v + 11])
      call('SET', guard, stamp)
    else
      call('DEL', key)
      call('SET', guard, stamp, 'EX', ARGV[1])
    end
  end
end
return applied
