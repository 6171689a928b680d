-- Begins partitions and moves their cursors on.
--
-- KEYS  tidemark:epoch, tidemark:cursors, tidemark:owners, and the caller's marks if it names any
-- ARGV  the filling's id, the token of the partitions begun; what marks must say, how many there are, and their fields;
--       then for each partition: field, mode and two numbers
--
-- mode  b: begin; the log's start and end. Who has the token becomes the owner. Returns the offset to read from.
--       a: advance; the offset that Redis must hold at least, since it did, and the next offset to read.
--
-- Returns what went wrong ('' if nothing did), whether Redis is complete, and the cursors of the partitions begun.
--
-- 'wiped': the filling is another one, or the epoch vanished after it was written. 'lost': a cursor is older than it was, or
-- a mark is missing, so writes were lost, as with a failover. Either way nothing was changed and all partitions are to be opened again.

local epoch, cursors, id = KEYS[1], KEYS[2], ARGV[1]
local call, int, match = redis.call, tonumber, string.match
local all = call('HGETALL', cursors)
local at, live = {}, 0
for i = 1, #all, 2 do
  at[all[i]] = all[i + 1]
  if string.find(all[i], '/', 1, true) and not string.find(all[i + 1], '/', 1, true) then live = live + 1 end
end
local done = call('GET', epoch)
if at.id ~= id or done and done ~= id or not done and live >= int(at.total) then return { 'wiped', 0 } end
local marks = int(ARGV[4])
local first = 5 + marks
if marks > 0 then
  for _, mark in ipairs(call('HMGET', KEYS[4], unpack(ARGV, 5, 4 + marks))) do
    if mark ~= ARGV[3] then return { 'lost', 0 } end
  end
end
for i = first, #ARGV, 4 do
  local have = at[ARGV[i]]
  if ARGV[i + 1] == 'a' and (not have or int(match(have, '^%d+')) < int(ARGV[i + 2])) then return { 'lost', 0 } end
end
local answer = { '', 0 }
for i = first, #ARGV, 4 do
  local field, x, y = ARGV[i], ARGV[i + 2], ARGV[i + 3]
  local was = at[field]
  local next, target
  if was then next, target = match(was, '^(%d+)/?(%d*)$') end
  if ARGV[i + 1] == 'b' then
    -- Beyond the log's end stands a cursor of a log that is no longer there.
    if not next or int(next) > int(y) then
      next, target = x, y
    elseif int(next) < int(x) then
      next = x
    end
    answer[#answer + 1] = next
    call('HSET', KEYS[3], field, ARGV[2])
  elseif int(y) > int(next) then
    next = y
  end
  if target == '' or int(next) >= int(target) then target = nil end
  local now = target and next .. '/' .. target or next
  if now ~= was then
    call('HSET', cursors, field, now)
    if not target then
      if not was or string.find(was, '/', 1, true) then live = live + 1 end
    elseif was and not string.find(was, '/', 1, true) then
      live = live - 1
    end
  end
end
if not done and live >= int(at.total) then
  call('SET', epoch, id)
  done = id
end
if done then answer[2] = 1 end
return answer
