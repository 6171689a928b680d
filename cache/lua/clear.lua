-- Removes keys of another format, for as long as a filling has to.
--
-- KEYS  tidemark:cursors, and the keys; without any the filling is through with that
-- ARGV  the filling's id
--
-- Returns 0 if there is nothing to do any more: another member is through with it, or the filling has ended. What is
-- there by now may have been written since, and stays.

local cursors = KEYS[1]
local now = redis.call('HMGET', cursors, 'id', 'clearing')
if now[1] ~= ARGV[1] or not now[2] then return 0 end
if #KEYS == 1 then
  redis.call('HDEL', cursors, 'clearing')
  return 0
end
redis.call('UNLINK', unpack(KEYS, 2))
return 1
