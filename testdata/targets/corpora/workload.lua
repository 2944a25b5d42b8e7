-- A workload for Lua: recursion, strings and patterns, tables and sorting, closures, metatables,
-- coroutines, errors through pcall (longjmp), string.format, garbage collection. Prints results that
-- depend on nothing but the language.
local out = {}
local function say(k, v) out[#out + 1] = k .. "=" .. tostring(v) end

local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
say("fib", fib(15))

local words = {}
for w in ("the quick brown fox jumps over the lazy dog "):rep(20):gmatch("%a+") do
  words[w] = (words[w] or 0) + 1
end
local keys = {}
for k in pairs(words) do keys[#keys + 1] = k end
table.sort(keys)
say("words", table.concat(keys, ","))
say("sub", (("hello world"):gsub("o(.)", "%1o")))

local V = {}
V.__index = V
V.__add = function(a, b) return setmetatable({x = a.x + b.x}, V) end
V.__lt = function(a, b) return a.x < b.x end
local sum = setmetatable({x = 0}, V)
for i = 1, 200 do sum = sum + setmetatable({x = i}, V) end
say("meta", sum.x)

local function gen(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i * i) end end) end
local s = 0
for v in gen(100) do s = s + v end
say("coroutine", s)

local caught = 0
local function deep(n) if n == 0 then error({code = 7}) end return deep(n - 1) + 1 end
for _ = 1, 100 do
  local ok, e = pcall(deep, 10)
  if not ok and e.code == 7 then caught = caught + 1 end
end
say("caught", caught)
local ok, e = pcall(function() local t = nil; return t.x end)
say("message", ok == false and e:match("attempt to index a nil value") ~= nil)
say("xpcall", select(2, xpcall(function() error("x", 0) end, function(m) return m .. "!" end)))

local t = {}
for i = 1, 500 do t[i] = (i * 7919) % 1009 end
table.sort(t, function(a, b) return a > b end)
say("sorted", t[1] .. "," .. t[250] .. "," .. t[500])
for i = 1, 200 do t[i] = {i, {tostring(i)}} end
t = nil
collectgarbage()
say("format", ("%5.2f|%-5s|%05d|%x|%q"):format(3.14159, "ab", 42, 255, "q\n"))
say("pack", #string.pack("<i4z", 7, "abc"))
say("utf8", utf8.char(228, 8364) .. utf8.len("ä€"))
local co = coroutine.create(function() error("inside") end)
local okc, ec = coroutine.resume(co)
say("dead", tostring(okc) .. (ec:match("inside") or ""))
local f = load("return ...")
say("load", select("#", f(1, nil, 3)))
print(table.concat(out, "\n"))
