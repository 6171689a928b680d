-- Applies deltas of tidemark.unread to the hashes of their users.
--
-- KEYS  inbox:<user>, each once or more
-- ARGV  [1] seconds for which the stamp of a removal is kept; then for each key the number of its deltas, and for each
--       delta: channel, action, value, pointer
--
-- action   bit 1: still a member, bit 2: publish; 4 alone: the record was a tombstone
-- value    the JSON of DESIGN section 8; its last bytes are "f.m.r.d"}
-- pointer  last_read_seq \n last_read_at \n last_read_id \n instance_id; the seq is 0 if there is none
--
-- Returns how many deltas were applied. The others were dominated by what is there, or equal to it.

local call, match, sub, find, gsub, int = redis.call, string.match, string.sub, string.find, string.gsub, tonumber
local STAMP = '"(%d+)%.(%d+)%.(%d+)%.(%d+)"}$'
local PLAIN = '^(%d+)%.(%d+)%.(%d+)%.(%d+)$'
local TAIL = -80 -- a stamp with its quotes is shorter

-- Ids hold no control characters, so these two are all that JSON wants escaped.
local function quote(s)
  if find(s, '["\\]') then s = gsub(s, '["\\]', '\\%0') end
  return '"' .. s .. '"'
end

local a, applied = 2, 0
for k = 1, #KEYS do
  local inbox = KEYS[k]
  local user = sub(inbox, 7)
  local n = int(ARGV[a])
  local base = a + 1
  a = base + 4 * n
  local channels = {}
  for i = 1, n do channels[i] = ARGV[base + 4 * (i - 1)] end
  local have = call('HMGET', inbox, unpack(channels))
  local gone -- stamps of removals; only looked up for channels that are not in the inbox
  local set, del, left, back = {}, {}, {}, {}
  for i = 1, n do
    local at = base + 4 * (i - 1)
    local channel, action, value, pointer = ARGV[at], int(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3]
    local was = have[i]
    if action == 4 then
      if was then del[#del + 1] = channel end
      back[#back + 1] = channel
      call('DEL', 'read-pointer:' .. user .. ':' .. channel)
      applied = applied + 1
    else
      local of, om, orr, od
      if was then
        of, om, orr, od = match(was, STAMP, TAIL)
      else
        gone = gone or call('HMGET', 'inbox-gone:' .. user, unpack(channels))
        if gone[i] then of, om, orr, od = match(gone[i], PLAIN) end
      end
      local f, m, r, d = match(value, STAMP, TAIL)
      if not (of and int(of) >= int(f) and int(om) >= int(m) and int(orr) >= int(r) and int(od) >= int(d)) then
        applied = applied + 1
        local member = action % 2 == 1
        if member then
          set[#set + 1] = channel
          set[#set + 1] = value
          if gone and gone[i] then back[#back + 1] = channel end
        else
          if was then del[#del + 1] = channel end
          left[#left + 1] = channel
          left[#left + 1] = f .. '.' .. m .. '.' .. r .. '.' .. d
        end
        local who
        if action >= 2 then
          who = '{"user_id":' .. quote(user) .. ',"channel_id":' .. quote(channel) .. ','
          call('PUBLISH', 'unread:' .. user, who .. '"member":' .. tostring(member) .. ',' .. sub(value, 2))
        end
        -- The pointer moves with a record of chat.reads or onto an own post, which is another seq.
        if not was or orr ~= r
            or match(was, '"last_read_seq":(%d+)') ~= match(value, '"last_read_seq":(%d+)') then
          local key = 'read-pointer:' .. user .. ':' .. channel
          local seq, time, id, instance = match(pointer, '^(%d+)\n([^\n]*)\n([^\n]*)\n(.*)$')
          local moved
          if seq == '0' then
            moved = call('DEL', key) == 1
          else
            local old = call('HMGET', key, 'last_read_id', 'last_read_at', 'last_read_seq')
            moved = old[1] ~= id or old[2] ~= time or old[3] ~= seq
            if moved then call('HSET', key, 'last_read_id', id, 'last_read_at', time, 'last_read_seq', seq) end
          end
          if moved and who then
            call('PUBLISH', 'read-pointer:changes', who .. '"last_read_id":' .. quote(id) .. ',"last_read_at":"'
              .. time .. '","instance_id":' .. quote(instance) .. '}')
          end
        end
      end
    end
  end
  if #set > 0 then call('HSET', inbox, unpack(set)) end
  if #del > 0 then call('HDEL', inbox, unpack(del)) end
  if #back > 0 then call('HDEL', 'inbox-gone:' .. user, unpack(back)) end
  if #left > 0 then
    call('HSET', 'inbox-gone:' .. user, unpack(left))
    call('EXPIRE', 'inbox-gone:' .. user, ARGV[1])
  end
end
return applied
