-- Begins or joins a filling of Redis.
--
-- KEYS  tidemark:epoch, tidemark:cursors, tidemark:owners
-- ARGV  an id for a new filling, the identity of the topics, their number of partitions, what ids of this format begin with
--
-- Returns the filling's id, why a new one was begun ('' if none was), and 1 if the keys of another format are still to be
-- removed (clear.lua) before anything is written.
--
-- The hash of cursors holds id, topics, total, clearing if such keys may be there, and for each "<topic>/<partition>" the
-- next offset to read, while it is being filled followed by "/<target>", the end of the log when the filling began.

local epoch, cursors = KEYS[1], KEYS[2]
local all = redis.call('HGETALL', cursors)
local at, live = {}, 0
for i = 1, #all, 2 do
  at[all[i]] = all[i + 1]
  if string.find(all[i], '/', 1, true) and not string.find(all[i + 1], '/', 1, true) then live = live + 1 end
end
local done = redis.call('GET', epoch)
local function other(id) return string.sub(id, 1, #ARGV[4]) ~= ARGV[4] end
local why = ''
if at.id and other(at.id) or not at.id and done and other(done) then
  why = 'format'
elseif not at.id then
  why = 'empty'
elseif at.topics ~= ARGV[2] or at.total ~= ARGV[3] then
  why = 'topics'
elseif done and done ~= at.id or not done and live >= tonumber(at.total) then
  why = 'epoch'
end
if why == '' then return { at.id, '', at.clearing and 1 or 0 } end
redis.call('DEL', epoch, cursors, KEYS[3])
redis.call('HSET', cursors, 'id', ARGV[1], 'topics', ARGV[2], 'total', ARGV[3])
if why ~= 'format' and not at.clearing then return { ARGV[1], why, 0 } end
redis.call('HSET', cursors, 'clearing', '1')
return { ARGV[1], why, 1 }
