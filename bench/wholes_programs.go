package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// wholePrograms are what -programs runs, by their names in strobetest's table: interpreters, a database, a compressor,
// a server with its clients, and programs with deep types.
var wholePrograms = []whole{
	{name: "Lua", from: "lua", what: "-O2, a script of 1.2 M calls", args: []string{"loop.lua"},
		files: map[string]string{"loop.lua": luaLoop(20)}},
	{name: "Lua, longer", from: "lua", what: "the same script, 7 M calls", args: []string{"loop.lua"},
		files: map[string]string{"loop.lua": luaLoop(120)}},
	{name: "SQLite's shell", from: "sqlite", what: "-O2, a table filled, indexed and joined",
		args:  []string{"-batch", ":memory:", ".read load.sql"},
		files: map[string]string{"load.sql": sqlLoad}},
	{name: "zstd", from: "zstd", what: "-O2, level 5 of 1 MB",
		args: []string{"-q", "--single-thread", "-5", "-f", "words"}, files: map[string]string{"words": manyWords(1 << 20)}},
	{name: "redis", from: "redis", what: "-O2, 10,000 requests of redis-benchmark",
		args:  []string{"--port", "0", "--unixsocket", "s", "--save", "", "--daemonize", "no", "--logfile", "log"},
		files: map[string]string{"empty": ""}, ready: `$S/src/redis-cli -s s ping`,
		load: `$S/src/redis-benchmark -s s -q -c 10 -n 2000 -t set,get,incr,lpush,zadd && $S/src/redis-cli -s s ` +
			`shutdown nosave`},
	{name: "jq", from: "jq", what: "-O0, its builtins and a filter over 20 people",
		args: []string{"-c", jqFilter, "people.json"}, files: map[string]string{"people.json": people(20)}},
	{name: "leveldb", from: "leveldb", what: "C++ -O0, 400 batches written, compacted and read", args: []string{"db"},
		files: map[string]string{"empty": ""}},
	{name: "jaq", from: "jaq", what: "Rust, debug build, the same filter over 500 people",
		args: []string{"-c", jqFilter, "people.json"}, files: map[string]string{"people.json": people(500)},
		trace: []string{"jaq_core::*", "jaq_json::*", "jaq_std::*"}, notProfiled: "none: rustc has no -pg"},
}

// luaLoop makes 58,000 calls a round.
func luaLoop(rounds int) string {
	return fmt.Sprintf(`local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local t = {}
for j = 1, %d do
  for i = 1, 200 do t[i] = {k = "k" .. i, v = fib(i %% 10)} end
  table.sort(t, function(a, b) return a.v < b.v or (a.v == b.v and a.k < b.k) end)
  local s = {}
  for i, e in ipairs(t) do s[#s+1] = string.format("%%s=%%d", e.k, e.v) end
end
`, rounds)
}

const sqlLoad = `create table town(id integer primary key, name text);
create table person(id integer primary key, name text, age int, town int references town(id));
with recursive n(i) as (select 1 union all select i + 1 from n where i < 50)
  insert into town select i, 'town ' || i from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
  insert into person select i, 'person ' || i, i * 37 % 90, i * 7 % 50 + 1 from n;
create index by_age on person(age);
select town.name, count(*), avg(age) from person join town on town.id = person.town where age > 30
  group by 1 order by 2 desc, 1 limit 5;
update person set name = upper(name) where age between 20 and 40;
select count(*), max(length(name)) from person where name like 'PERSON 1%';
delete from person where id % 3 = 0;
pragma integrity_check;
`

const jqFilter = `[.[] | select(.age > 30)] | group_by(.town) | map({town: .[0].town, n: length, old: (map(.age) | ` +
	`max), names: (map(.name | ascii_downcase) | join(","))}) | length`

func people(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"name": "Person %d", "age": %d, "town": "town %d", "pets": [{"n": %d.5}, null, true]}`, i,
			i*37%90, i*7%50, i)
	}
	return "[" + strings.Join(all, ",\n") + "]\n"
}

// manyWords is text of so many bytes that is the same each time.
func manyWords(size int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var s strings.Builder
	for s.Len() < size {
		fmt.Fprintf(&s, "%s ", []string{"the", "water", "rose", "to", "lamps", "and", "boats", "lay", "in", "grass", "of",
			"bread"}[r.IntN(12)])
		if r.IntN(9) == 0 {
			fmt.Fprintln(&s, r.Uint32())
		}
	}
	return s.String()[:size]
}
