-- Calls, tables, methods and strings: what an interpreter spends its time with.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(20))
local sieve, count = {}, 0
for i = 2, 20000 do
    if not sieve[i] then
        count = count + 1
        for j = i * i, 20000, i do sieve[j] = true end
    end
end
print(count)
local list = {}
for i = 1, 3000 do list[i] = (i * 7919) % 3001 end
for i = 2, #list do
    local value, j = list[i], i - 1
    if i % 8 == 0 then
        while j > 0 and list[j] > value and i - j < 40 do list[j + 1] = list[j]; j = j - 1 end
        list[j + 1] = value
    end
end
print(list[1], list[#list])
local account = {}
account.__index = account
function account.new(sum) return setmetatable({ sum = sum }, account) end
function account:add(n) self.sum = self.sum + n; return self end
local mine = account.new(0)
for i = 1, 20000 do mine:add(i):add(-1) end
print(mine.sum)
local text = {}
for i = 1, 2000 do text[#text + 1] = "n" .. i end
print(#text, text[2000])
