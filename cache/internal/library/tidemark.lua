#!lua name=tidemark
-- version 1
--
-- FCALL_RO tidemark_inbox 1 inbox:<user> [<now, in Unix milliseconds>]
--
-- Returns a user's channels, listed threads and totals as JSON, read from packed values (docs/redis.md); a null where Redis
-- cannot say: it is not complete, or has nothing of the user. That is a miss, never zero: ask the query service. The bytes are those of
-- package packed, and what is made of them is what package cache makes of them; both read the same test vectors.

-- Set by the first call: while a library is loaded, Redis gives it none of Lua's own.
local byte, sub, format, floor, concat
local LEVELS = { [0] = 'ALL', 'MENTIONS', 'NONE' }
local MAX_LISTED = 1000
local LISTED_FOR = 30 * 24 * 3600 * 1000

-- A value that is read from its beginning: s, and the index at of what comes next.

local function uvarint(v)
  local n, mul = 0, 1
  while true do
    local b = byte(v.s, v.at)
    if not b then error('TIDEMARK a packed value ends in the middle', 0) end
    v.at = v.at + 1
    if b < 128 then return n + b * mul end
    n, mul = n + (b - 128) * mul, mul * 128
  end
end

local function varint(v)
  local n = uvarint(v)
  if n % 2 == 0 then return n / 2 end
  return -(n + 1) / 2
end

local function bytes(v, n)
  local at = v.at
  if at + n - 1 > #v.s then error('TIDEMARK a packed value ends in the middle', 0) end
  v.at = at + n
  return sub(v.s, at, at + n - 1)
end

local function uuid(raw)
  local h = {}
  for i = 1, 16 do h[i] = format('%02x', byte(raw, i)) end
  h = concat(h)
  return sub(h, 1, 8) .. '-' .. sub(h, 9, 12) .. '-' .. sub(h, 13, 16) .. '-' .. sub(h, 17, 20) .. '-' .. sub(h, 21)
end

local CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

local function ulid(raw)
  local out, acc, bits = {}, 0, 2
  for i = 1, 16 do
    acc, bits = acc * 256 + byte(raw, i), bits + 8
    while bits >= 5 do
      bits = bits - 5
      local digit = floor(acc / 2 ^ bits)
      acc = acc - digit * 2 ^ bits
      out[#out + 1] = sub(CROCKFORD, digit + 1, digit + 1)
    end
  end
  return concat(out)
end

local function id(v)
  local head = uvarint(v)
  if head == 1 then return uuid(bytes(v, 16)) end
  if head == 3 then return ulid(bytes(v, 16)) end
  if head % 2 ~= 0 then error('TIDEMARK ' .. head .. ' is no head of an id', 0) end
  return bytes(v, head / 2)
end

-- Returns runs { lo, hi, lo, hi, ... } with their size.
local function positions(v)
  local set, last, size = {}, 0, 0
  for _ = 1, uvarint(v) do
    local head = uvarint(v)
    local lo = last + floor(head / 2)
    last = lo
    if head % 2 ~= 0 then last = lo + uvarint(v) end
    set[#set + 1], set[#set + 2] = lo, last
    size = size + last - lo + 1
  end
  set.size = size
  return set
end

local function labels(v)
  local list = {}
  for i = 1, uvarint(v) do list[i] = bytes(v, uvarint(v)) end
  return list
end

local function begin(s, key, known)
  local version = byte(s, 1)
  if version == 123 then
    error('TIDEMARK ' .. key .. ' has JSON values: tidemark_inbox reads packed ones (--redis-values packed)', 0)
  elseif version ~= 1 then
    error('TIDEMARK ' .. key .. ' has a packed value of version ' .. tostring(version) .. ', and this library reads version 1: load a later one', 0)
  end
  local v = { s = s, at = 2 }
  v.flags = uvarint(v)
  if v.flags >= known then error('TIDEMARK ' .. key .. ' has a packed value with flags that this library does not know: load a later one', 0) end
  return v
end

-- Takes the lowest flag.
local function flag(v)
  local f = v.flags
  v.flags = floor(f / 2)
  return f % 2 ~= 0
end

local NONE = { size = 0 }

local function value(s, key)
  local v = begin(s, key, 2 ^ 18)
  local e = { unread = 0, mentions = 0, direct = 0, offline = 0, latest_seq = 0, read_pos = 0, excluded = NONE, mentioned = NONE,
    level = 0, level_after = 0, own = {} }
  e.large = flag(v)
  e.stamp = format('%.0f.%.0f.%.0f.%.0f', uvarint(v), uvarint(v), uvarint(v), uvarint(v))
  e.epoch, e.read_seq = uvarint(v), uvarint(v)
  if not e.large then e.unread = uvarint(v) end
  if flag(v) then e.mentions = uvarint(v) end
  if flag(v) then e.first = id(v) end
  if flag(v) then e.latest_seq, e.latest_at = uvarint(v), varint(v) end
  if flag(v) then e.offline = uvarint(v) end
  if flag(v) then e.read_pos = uvarint(v) end
  if flag(v) then e.touched = varint(v) end
  if flag(v) then e.excluded = positions(v) end
  if flag(v) then e.mentioned = positions(v) end
  if flag(v) then e.direct = uvarint(v) end
  if flag(v) then e.first_mention = { id(v), uvarint(v) } end
  if flag(v) then
    local both = uvarint(v)
    e.level, e.level_after = both % 4, floor(both / 4)
    local till = uvarint(v)
    if till > 0 then e.till = till end
  end
  e.ignore_all, e.flagged = flag(v), flag(v)
  if flag(v) then
    local pos = uvarint(v)
    e.filed, e.keep, e.filed_pos = true, pos % 2 ~= 0, floor(pos / 2)
  end
  if flag(v) then e.line = { id(v), uvarint(v) } end
  if flag(v) then e.own = labels(v) end
  e.ask = flag(v)
  if v.at ~= #s + 1 then error('TIDEMARK ' .. key .. ' has a packed value with more than belongs to it', 0) end
  e.known = not e.large
  e.labels = e.own
  return e
end

local function channel(s, key)
  local v = begin(s, key, 2 ^ 6)
  local c = { holes = NONE, holes_floor = 0, alls = NONE, alls_floor = 0, purged = 0, labels = {} }
  local _ = uvarint(v), uvarint(v)
  _, c.head_pos, _ = uvarint(v), uvarint(v), uvarint(v)
  if flag(v) then
    local seq, at = uvarint(v), varint(v)
    _, _, _ = id(v), id(v), bytes(v, uvarint(v))
    if seq > 0 then c.latest_at = at end
  end
  if flag(v) then c.holes_floor, c.holes = uvarint(v), positions(v) end
  if flag(v) then c.alls_floor, c.alls = uvarint(v), positions(v) end
  if flag(v) then c.purged = uvarint(v) end
  if flag(v) then c.labels = labels(v) end
  c.archived = flag(v)
  return c
end

-- A walk over a set: whether position p is in it, and up to where all positions from p on are alike.
local function alike(set, w, p)
  while set[w] and set[w + 1] < p do w = w + 2 end
  local lo = set[w]
  if not lo then return w, false, math.huge end
  if lo > p then return w, false, lo - 1 end
  return w, true, set[w + 1]
end

-- Counts the unread messages of a large channel (design 7). Returns nothing if the lists do not say all.
local function count(c, e)
  if e.ask then return nil end
  local above = math.max(e.read_pos, c.purged)
  if above >= c.head_pos then return 0, 0, 0 end
  if c.holes_floor > above or not e.ignore_all and c.alls_floor > above or e.excluded.size >= MAX_LISTED or e.mentioned.size >= MAX_LISTED then
    return nil
  end
  local unread, mentions, direct = 0, 0, 0
  local h, x, a, m = 1, 1, 1, 1
  while above < c.head_pos do
    local p, inh, inx, ina, inm, eh, ex, ea, em = above + 1
    h, inh, eh = alike(c.holes, h, p)
    x, inx, ex = alike(e.excluded, x, p)
    a, ina, ea = alike(c.alls, a, p)
    m, inm, em = alike(e.mentioned, m, p)
    local last = math.min(c.head_pos, eh, ex, ea, em)
    if not inh and not inx then
      local n = last - above
      unread = unread + n
      if inm then direct = direct + n end
      if inm or ina and not e.ignore_all then mentions = mentions + n end
    end
    above = last
  end
  return unread, mentions, direct
end

local function forget(e) e.known, e.unread, e.mentions, e.direct = false, 0, 0, 0 end

local function union(a, b)
  if #a == 0 then return b elseif #b == 0 then return a end
  local all, seen = {}, {}
  for _, list in ipairs({ a, b }) do
    for _, l in ipairs(list) do
      if not seen[l] then
        seen[l] = true
        all[#all + 1] = l
      end
    end
  end
  table.sort(all)
  return all
end

-- Fills in what the channel's record c tells, nil if there is none.
local function settle(e, c)
  local filing = e.filed and not e.keep
  if not c then
    e.archived = e.filed and e.keep or false
    if filing then forget(e) end
    return
  end
  e.archived = c.archived or e.filed and (e.keep or c.head_pos <= e.filed_pos) and not (filing and e.ask) or false
  e.labels = union(c.labels, e.own)
  if e.large then
    e.latest_at = c.latest_at
    local unread, mentions, direct = count(c, e)
    if unread then
      e.known, e.unread, e.mentions, e.direct = true, unread, mentions, direct
    else
      forget(e)
    end
  end
end

local function zeros()
  return { unread = 0, mentions = 0, unread_channels = 0, thread_unread = 0, thread_mentions = 0, badge = 0, unread_threads = 0, flagged = 0,
    archived_channels = 0, archived_mentions = 0, unknown = 0 }
end

local function add_channel(t, e)
  local muted = e.level == 2
  if not e.known and not (muted and not e.archived and not e.filed) then
    t.unknown = t.unknown + 1
    return
  end
  local news = e.unread > 0 or e.flagged
  if e.archived then
    if news then t.archived_channels = t.archived_channels + 1 end
    t.archived_mentions = t.archived_mentions + e.mentions
    return
  end
  if e.flagged then t.flagged = t.flagged + 1 end
  if muted then return end
  t.unread, t.mentions = t.unread + e.unread, t.mentions + e.mentions
  if news then t.unread_channels = t.unread_channels + 1 end
  local badge = e.level == 1 and e.mentions or e.unread
  if badge == 0 and e.flagged then badge = 1 end
  t.badge = t.badge + badge
end

local function add_thread(t, e, of)
  if of.archived or of.level == 2 then return end
  t.thread_unread, t.thread_mentions = t.thread_unread + e.unread, t.thread_mentions + e.mentions
  if e.unread > 0 then t.unread_threads = t.unread_threads + 1 end
  t.badge = t.badge + (of.level == 1 and e.mentions or e.unread)
end

local function time(ms)
  local days = floor(ms / 86400000)
  local rest = ms - days * 86400000
  local z = days + 719468 -- days from the year 0, March 1
  local era = floor(z / 146097)
  local doe = z - era * 146097
  local yoe = floor((doe - floor(doe / 1460) + floor(doe / 36524) - floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + floor(yoe / 4) - floor(yoe / 100))
  local mp = floor((5 * doy + 2) / 153)
  local day, month = doy - floor((153 * mp + 2) / 5) + 1, mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  local s = floor(rest / 1000)
  return format('"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ"', year, month, day, floor(s / 3600), floor(s / 60) % 60, s % 60, rest % 1000)
end

local function text(s) return cjson.encode(s) end

local function texts(list)
  local out = {}
  for i, l in ipairs(list) do out[i] = text(l) end
  return '[' .. concat(out, ',') .. ']'
end

local function ref(r) return format('{"message_id":%s,"seq":%.0f}', text(r[1]), r[2]) end

-- What a channel and a thread have in common; out is the JSON so far, without its brace.
local function counts(out, e)
  if e.known then
    out[#out + 1] = format(',"unread":%.0f,"mentions":%.0f,"direct_mentions":%.0f', e.unread, e.mentions, e.direct)
  end
  if e.first then out[#out + 1] = ',"first_unread":{"message_id":' .. text(e.first) .. '}' end
  if e.first_mention then out[#out + 1] = ',"first_mention":' .. ref(e.first_mention) end
  out[#out + 1] = format(',"last_read":{"seq":%.0f},"read_epoch":%.0f,"stamp":"%s"', e.read_seq, e.epoch, e.stamp)
end

local function setting(out, e)
  out[#out + 1] = format(',"level":"%s","muted":%s,"archived":%s', LEVELS[e.level] or 'ALL', tostring(e.level == 2), tostring(e.archived))
  if e.till then out[#out + 1] = ',"until":' .. time(e.till) .. ',"level_after":"' .. (LEVELS[e.level_after] or 'ALL') .. '"' end
end

local function latest(out, name, e)
  if not e.latest_at then return end
  out[#out + 1] = format(',"%s":{', name)
  if not e.large then out[#out + 1] = format('"seq":%.0f,', e.latest_seq) end
  out[#out + 1] = '"at":' .. time(e.latest_at) .. '}'
end

local function channel_json(e)
  local out = { '{"channel_id":', text(e.id), ',"member":true,"known":', tostring(e.known) }
  counts(out, e)
  out[#out + 1] = format(',"offline_unread":%.0f', e.offline)
  latest(out, 'latest', e)
  setting(out, e)
  out[#out + 1] = format(',"flagged":%s,"ignore_mention_all":%s,"large":%s', tostring(e.flagged), tostring(e.ignore_all), tostring(e.large))
  out[#out + 1] = ',"labels":' .. texts(e.labels) .. ',"own_labels":' .. texts(e.own)
  if e.filed then out[#out + 1] = format(',"filed":{"keep":%s,"pos":%.0f}', tostring(e.keep), e.filed_pos) end
  if e.line then out[#out + 1] = ',"line":' .. ref(e.line) end
  out[#out + 1] = '}'
  return concat(out)
end

local function thread_json(e, of)
  local out = { '{"channel_id":', text(e.channel), ',"thread_id":', text(e.id) }
  counts(out, e)
  latest(out, 'last_reply', e)
  if e.touched then out[#out + 1] = ',"touched_at":' .. time(e.touched) end
  setting(out, of)
  out[#out + 1] = '}'
  return concat(out)
end

local function totals_json(t)
  return format('{"unread":%.0f,"mentions":%.0f,"unread_channels":%.0f,"thread_unread":%.0f,"thread_mentions":%.0f,"badge":%.0f,"unread_threads":%.0f,'
    .. '"flagged":%.0f,"archived":{"unread_channels":%.0f,"mentions":%.0f},"unknown":%.0f}', t.unread, t.mentions, t.unread_channels, t.thread_unread,
    t.thread_mentions, t.badge, t.unread_threads, t.flagged, t.archived_channels, t.archived_mentions, t.unknown)
end

-- Unread first, then by the newest activity, then by ids.
local function order(news)
  return function(a, b)
    local na, nb = news(a), news(b)
    if na ~= nb then return na end
    local ta, tb = a.latest_at or -math.huge, b.latest_at or -math.huge
    if ta ~= tb then return ta > tb end
    if a.channel ~= b.channel then return a.channel < b.channel end
    return a.id < b.id
  end
end

local function escape(id)
  return (string.gsub(id, '[%%:]', { ['%'] = '%25', [':'] = '%3A' }))
end

local function clock(now)
  if now then
    local ms = tonumber(now)
    if not ms then error('TIDEMARK ' .. now .. ' is no time in Unix milliseconds', 0) end
    return ms
  end
  local t = redis.call('TIME')
  return t[1] * 1000 + floor(t[2] / 1000)
end

local function inbox(keys, args)
  byte, sub, format, floor, concat = string.byte, string.sub, string.format, math.floor, table.concat
  local key = keys[1]
  if not key or sub(key, 1, 6) ~= 'inbox:' then
    error('TIDEMARK tidemark_inbox takes one key, inbox:<user>', 0)
  end
  local epoch = redis.call('GET', 'tidemark:epoch')
  if not epoch then return false end
  local values, families = string.match(epoch, '^5:(%l+):([%l,]+)/')
  if values ~= 'packed' then
    if string.match(epoch, '^4/') or values == 'json' then
      error('TIDEMARK Redis is filled with JSON values: tidemark_inbox reads packed ones (--redis-values packed)', 0)
    end
    return false
  end
  local has, without = {}, {}
  for f in string.gmatch(families, '%l+') do has[f] = true end
  for _, f in ipairs({ 'pointers', 'channels', 'threads' }) do
    if not has[f] then without[#without + 1] = f end
  end
  local fields = redis.call('HGETALL', key)
  if #fields == 0 then return false end
  local now = clock(args[1])
  local updated = redis.call('GET', 'tidemark:channels-updated')
  local list, by, newest = {}, {}, -math.huge
  for i = 1, #fields, 2 do
    local e = value(fields[i + 1], key)
    e.id, e.channel, e.archived = fields[i], fields[i], false
    if e.till and now >= e.till then e.level, e.till, e.level_after = e.level_after, nil, 0 end
    if not has.channels then
      settle(e, nil)
      if updated then forget(e) end
    elseif updated or e.large or e.filed then
      local at = 'channel-latest:' .. escape(e.id)
      local record = redis.call('GET', at)
      settle(e, record and channel(record, at) or nil)
    end
    list[#list + 1], by[e.id] = e, e
    if e.latest_at and e.latest_at > newest then newest = e.latest_at end
  end

  local threads, listed = {}, {}
  if has.threads then
    local of = 'inbox-threads:' .. sub(key, 7)
    local always = redis.call('GET', 'tidemark:thread-listing') == 'always'
    fields = redis.call('HGETALL', of)
    for i = 1, #fields, 2 do
      local cut = string.find(fields[i], '%z')
      if not cut then error('TIDEMARK ' .. of .. ' has a field that is not channel, 0x00 and thread', 0) end
      local e = value(fields[i + 1], of)
      e.channel, e.id = sub(fields[i], 1, cut - 1), sub(fields[i], cut + 1)
      if e.latest_at and e.latest_at > newest then newest = e.latest_at end
      threads[#threads + 1] = e
    end
    for _, e in ipairs(threads) do
      if by[e.channel] and (always or not (newest - (e.touched or -math.huge) > LISTED_FOR)) then listed[#listed + 1] = e end
    end
  end

  local totals, labelled, names = zeros(), {}, {}
  local function each(labels_of, add)
    add(totals)
    for _, l in ipairs(labels_of) do
      if not labelled[l] then
        labelled[l], names[#names + 1] = zeros(), l
      end
      add(labelled[l])
    end
  end
  table.sort(list, order(function(e) return not e.known or e.unread > 0 or e.flagged end))
  table.sort(listed, order(function(e) return e.unread > 0 end))
  local channels, shown = {}, {}
  for i, e in ipairs(list) do
    each(e.labels, function(t) add_channel(t, e) end)
    channels[i] = channel_json(e)
  end
  for i, e in ipairs(listed) do
    local of = by[e.channel]
    each(of.labels, function(t) add_thread(t, e, of) end)
    shown[i] = thread_json(e, of)
  end
  table.sort(names)
  for i, l in ipairs(names) do names[i] = text(l) .. ':' .. totals_json(labelled[l]) end
  return '{"channels":[' .. concat(channels, ',') .. '],"threads":[' .. concat(shown, ',') .. '],"totals":' .. totals_json(totals)
    .. ',"totals_by_label":{' .. concat(names, ',') .. '},"evaluated_at":' .. time(now) .. ',"without":' .. texts(without) .. '}'
end

redis.register_function { function_name = 'tidemark_inbox', callback = function(keys, args)
  local ok, answer = pcall(inbox, keys, args)
  if ok then return answer end
  if type(answer) == 'table' then return answer end -- an error of Redis itself
  return redis.error_reply(tostring(answer))
end, flags = { 'no-writes' } }
