"""What the Redis store asks, in Lua: Redis runs each script as a whole, with nothing between its steps.

KEYS are the stream and the hash of its producer, ARGV the lease, how long a stream is kept (milliseconds) and how long
it may be (bytes), and then what the script is asked. In the stream 0-1 is the beginning, (n + 1)-0 the frame n, and n-2
the end of n frames. The hash has ``producer``, empty for a stream that was taken from its own; ``beat``, when that was
heard of last; ``seen``, until when the stream counts as read (milliseconds, by the clock of Redis); and ``size``, in
bytes.
"""

from __future__ import annotations

from typing import Final

_COMMON: Final = """
local stream, hash = KEYS[1], KEYS[2]
local lease, keep, max_bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function facts() -- whose it is (false if it is not there), how many frames it has, and whether it has ended
  local producer = redis.call('HGET', hash, 'producer')
  local last = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  if not producer then return false end
  if not last then return producer, -1, false end
  local frames, kind = string.match(last[1], '^(%d+)-(%d+)$')
  return producer, tonumber(frames), kind == '2'
end

local function number(field)
  return tonumber(redis.call('HGET', hash, field))
end

local function stay()
  redis.call('PEXPIRE', stream, keep)
  redis.call('PEXPIRE', hash, keep)
end

local function outcome(state, count)
  return {state, count, math.max(now - number('seen'), 0)}
end

local function write(count, first, skip, size)
  for i = first + skip, #ARGV do
    count = count + 1
    redis.call('XADD', stream, count .. '-0', 'frame', ARGV[i])
  end
  redis.call('HSET', hash, 'beat', now, 'size', size)
  return count
end

local function length(first, skip)
  local size = number('size')
  for i = first + skip, #ARGV do size = size + #ARGV[i] end
  return size
end
"""

# ARGV 4: the producer.
BEGIN: Final = (
    _COMMON
    + """
local producer, count = facts()
if producer == '' and count == -1 and redis.call('HGET', hash, 'former') ~= ARGV[4] then producer = false end
if producer and count == -1 and producer == ARGV[4] then producer = false end
if not producer then
  redis.call('DEL', stream, hash)
  redis.call('XADD', stream, '0-1', 'begin', '')
  redis.call('HSET', hash, 'producer', ARGV[4], 'beat', now, 'seen', now, 'size', 0)
  stay()
  return 1
end
return producer == ARGV[4] and 1 or 0
"""
)

# ARGV 4: the producer, 5: the number of the first frame, and the frames.
APPEND: Final = (
    _COMMON
    + """
local producer, count, ended = facts()
if not producer or (count == -1 and producer == ARGV[4]) then return {'lost', 0, 0} end
if producer ~= ARGV[4] or ended then return {'ended', 0, 0} end
local start = tonumber(ARGV[5])
if start > count then return outcome('written', count) end
local size = length(6, count - start)
if size > max_bytes and size > number('size') then return {'long', 0, 0} end
count = write(count, 6, count - start, size)
stay()
return outcome('written', count)
"""
)

# As APPEND; the producer is empty for a reader.
FINISH: Final = (
    _COMMON
    + """
local producer, count, ended = facts()
local start = tonumber(ARGV[5])
if ARGV[4] == '' then
  if not producer then return {'lost', 0, 0} end
  if count == -1 then return {'none', 0, 0} end
  if ended or count ~= start or now - number('beat') < lease then return outcome('written', count) end
else
  if not producer or (count == -1 and producer == ARGV[4]) then return {'lost', 0, 0} end
  if producer ~= ARGV[4] then return {'ended', 0, 0} end
  if ended or start > count then return outcome('written', count) end
end
count = write(count, 6, count - start, length(6, count - start))
redis.call('XADD', stream, count .. '-2', 'end', '')
redis.call('HSET', hash, 'producer', ARGV[4])
stay()
return outcome('written', count)
"""
)

# ARGV 4: the number of the first frame, 5: the most frames, 6: for how long a reader that finds none will wait.
READ: Final = (
    _COMMON
    + """
local producer, count, ended = facts()
if not producer then return {'lost', 0, {}} end
if count == -1 then return {producer == '' and 'none' or 'lost', 0, {}} end
local frames = {}
for _, entry in ipairs(redis.call('XRANGE', stream, ARGV[4] .. '-2', '+', 'COUNT', ARGV[5])) do
  if entry[2][1] == 'frame' then table.insert(frames, entry[2][2]) end
end
local waits = #frames == 0 and not ended
if waits and now - number('beat') >= lease then return {'dead', count, frames} end
redis.call('HSET', hash, 'seen', waits and now + tonumber(ARGV[6]) or now)
return {ended and 'ended' or 'open', count, frames}
"""
)

# What is left for a while says to its producer, who may not have heard, that this is not a loss.
EXPIRE: Final = (
    _COMMON
    + """
local former = redis.call('HGET', hash, 'producer')
redis.call('DEL', stream, hash)
if former and former ~= '' then
  redis.call('HSET', hash, 'producer', '', 'former', former)
  redis.call('PEXPIRE', hash, lease * 2)
end
return 1
"""
)
