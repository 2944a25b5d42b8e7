package strobetest

// What the whole programs are given to work on.
const (
	// Two scripts that once lost nearly all of their calls: a short one, which ends by os.exit, and 1.2 M calls.
	wholeLuaShort = `local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local t = {}
for i = 1, 200 do t[i] = {k = "k" .. i, v = fib(i % 10)} end
table.sort(t, function(a, b) return a.v < b.v or (a.v == b.v and a.k < b.k) end)
local s = {}
for i, e in ipairs(t) do s[#s+1] = string.format("%s=%d", e.k, e.v) end
print(table.concat(s, ","))
local co = coroutine.create(function(a) local b = coroutine.yield(a * 2); error({code = b}) end)
print(coroutine.resume(co, 21)); local ok, e = coroutine.resume(co, 7); print(ok, e.code)
print(pcall(string.rep, "x", -1)); print(pcall(load, "x ="))
print(load("x ="))
print(string.gsub("hello world", "o", "0"))
setmetatable(t, {__gc = function() print("gc") end}); t = nil; collectgarbage()
print(math.maxinteger, 1e100, 0x1p-2, utf8.char(228, 8364))
os.exit(3, true)
`
	wholeLuaLoop = `local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local t = {}
for j=1,20 do
for i = 1, 200 do t[i] = {k = "k" .. i, v = fib(i % 10)} end
table.sort(t, function(a, b) return a.v < b.v or (a.v == b.v and a.k < b.k) end)
local s = {}
for i, e in ipairs(t) do s[#s+1] = string.format("%s=%d", e.k, e.v) end
end
`
	wholeLua = `local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local t = {}
for i = 1, 60 do t[i] = {k = "k" .. i, v = fib(i % 10)} end
table.sort(t, function(a, b) return a.v < b.v or (a.v == b.v and a.k < b.k) end)
local s = {}
for i, e in ipairs(t) do s[#s+1] = string.format("%s=%d", e.k, e.v) end
print(table.concat(s, ","), arg and arg[1])
local co = coroutine.create(function(a) local b = coroutine.yield(a * 2); error({code = b}) end)
print(coroutine.resume(co, 21)); local ok, e = coroutine.resume(co, 7); print(ok, e.code)
print(pcall(string.rep, "x", -1), pcall(load, "x ="), load("x ="))
print(string.gsub("hello world", "o", "0"), ("%5.2f|%-5s|%q"):format(3.14159, "ab", "c\n"))
setmetatable(t, {__gc = function() print("gc") end}); t = nil; collectgarbage()
print(math.maxinteger, 1e100, 0x1p-2, utf8.char(228, 8364))
io.stderr:write("to stderr\n")
os.exit(3, true)
`
	wholeShell = `set -u
add() { echo $(($1 + $2)); }
for i in 1 2 3; do x=$(add $i 10); echo "$i: $x"; done
printf '%s|%05d\n' "$1" 42
echo a b c | while read -r p q; do echo "$q $p"; done
case "$1" in a*) echo begins ;; *) echo other ;; esac
cat <<END | tr a-z A-Z
here $((2 * 3))
END
( exit 4 ); echo "left with $?"
trap 'echo at the end' EXIT
f() { local v=inner; echo $v; }; f
kill -USR1 $$ 2>/dev/null || true; echo not here
`
	wholeAwk = `BEGIN { FS = "[ .,]+"; OFS = "-"; printf "%5.2f %s\n", atan2(0, -1), substr("abcdef", 2, 3) }
{ for (i = 1; i <= NF; i++) if ($i != "") seen[tolower($i)]++; total += NF }
/the/ { gsub(/the/, "THE"); lines[++n] = $0 }
function top(k,  best, w) {
  for (w in seen) if (best == "" || seen[w] > seen[best] || seen[w] == seen[best] && w < best) best = w
  delete seen[best]; return best }
END { print total, n; for (k = 1; k <= 5; k++) print top(k)
  print length(lines[1]), index(lines[1], "THE"), match("aab", /b/); exit 2 }
`
	wholeWords = `It was a small town on the edge of the wood, and the wood was old.
Nobody who had been born there had ever gone farther than the bridge,
and the bridge, it was said, had been built before the word for it.
In spring the water rose to the lamps; in autumn the boats lay in the grass.
The baker, the smith and the widow of the bridge keeper met on Thursdays,
to speak of the weather, which was bad, and of the bread, which was good.
`
	wholeBc = `scale = 20
define f(n) { if (n < 2) return (1); return (n * f(n - 1)); }
f(30)
e(1)
4 * a(1)
sqrt(2)
for (i = 0; i < 4; ++i) { a[i] = i ^ 3; print i, " ", a[i], "\n"; }
obase = 16
255 * 4096
1 / 0
"done
"
halt
`
	wholeC = `#include <stdio.h>
#include <string.h>
struct node { int id; const char *name; struct node *next; };
enum color { RED, GREEN = 5 };
static int sum(struct node *n) { int s = 0; while (n) { s += n->id; n = n->next; } return s; }
static double mean(const double *v, int n) { double t = 0;
  for (int i = 0; i < n; i++) t += v[i]; return n ? t / n : 0; }
/* the main
   program */
int main(int argc, char **argv) {
  struct node a = {1, "a", 0}, b = {2, "b", &a};
  double v[] = {1.5, 2.5, 4};
  enum color c = argc > 1 ? GREEN : RED;
  switch (c) { case RED: puts("red"); break; default: printf("%d %s\n", c, argv[argc - 1]); }
  printf("%d %.2f %d\n", sum(&b), mean(v, 3), (int)strlen(b.next->name));
  return sum(&b);
}
`
	wholeJq = `def depth: if type == "object" or type == "array" then 1 + ([.[] | depth] | max // 0) else 0 end;
[.. | numbers] as $n | {sum: ($n | add), depth: depth, keys: (paths | map(tostring) | join("/")),
 names: [.people[] | select(.age > 30) | .name | ascii_upcase],
 by: (.people | group_by(.town) | map({(.[0].town): length}) | add),
 fold: (reduce .people[] as $p (0; . + $p.age)), text: (.people | @json | length), try: (try error("x") catch .)}
`
	wholeJSON = `{"people": [
 {"name": "ada", "age": 36, "town": "x"}, {"name": "bob", "age": 29, "town": "y", "pets": [{"n": 1.5e3}, null, true]},
 {"name": "cy \u00e9", "age": 51, "town": "x", "deep": [[[[{"a": {"b": -1}}]]]]}], "empty": {}, "list": []}
`
	wholeXML = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE list [<!ENTITY who "Ada &amp; Bob"><!ELEMENT list (item*)><!ATTLIST item id CDATA #REQUIRED kind (a|b) "a">]>
<list xmlns:x="urn:x"><item id="1">&who;</item>
<x:item id="2"><![CDATA[<raw>]]></x:item><?do it?><!-- note --><item id="3" kind="b"/></list>
`
	wholeRedis = `"$P" --port 0 --unixsocket "$PWD/s" --save '' --daemonize no --logfile log --dir . &
c="$S/src/redis-cli -s $PWD/s"
for i in $(seq 300); do $c ping >/dev/null 2>&1 && break; sleep 0.1; done
$c set a 1; $c incrby a 41; $c rpush l x y z; $c lrange l 0 -1; $c hset h f v g w; $c hgetall h
$c zadd z 1 a 2 b; $c zrange z 0 -1 withscores
$c eval 'return {KEYS[1], redis.call("get", KEYS[1]), #ARGV}' 1 a b; $c type l; $c object encoding l
$c setrange t 5 abc; $c bitcount t
$c xadd s 1-1 k v; $c xlen s; $c nonsense; $c hget l f; $c debug sleep 0; $c save; $c dbsize; $c shutdown nosave
wait
`
	wholeNginx = `mkdir -p logs; "$P" -p "$PWD" -c nginx.conf & pid=$!
for i in $(seq 300); do curl -s --unix-socket s http://x/a.txt >/dev/null && break; sleep 0.1; done
for i in 1 2 3; do curl -s --unix-socket s http://x/a.txt; done
curl -s -o /dev/null -w '%{http_code}\n' --unix-socket s http://x/gone
curl -s -D - -o /dev/null --unix-socket s http://x/say/me -H 'A: b' | grep X-Who
curl -s -r 2-5 --unix-socket s http://x/a.txt; echo
curl -s -X POST -d q=1 -w '%{http_code}\n' -o /dev/null --unix-socket s http://x/a.txt
"$P" -p "$PWD" -c nginx.conf -s quit; wait $pid; echo $?; wc -l <logs/access.log
`
	wholeNginxConf = `daemon off; worker_processes 2; pid pid; error_log logs/error.log;
events { worker_connections 64; }
http { access_log logs/access.log; client_body_temp_path t1; proxy_temp_path t2;
  fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
 map $uri $who { default nobody; /say/me me; }
 server { listen unix:s; root .; location /say/ {
    add_header X-Who "$who $http_a $request_method" always; } location / { } } }
`
	wholeNinja = `cflags = -v
rule copy
  command = cat $in > $out && echo $flags >> $out
  description = copy $out
rule fail
  command = echo failing; exit 3
build mid: copy in
  flags = $cflags one
build out: copy mid | in
  flags = two
build nothing: fail
build all: phony out
default all
`
	wholeYAML = `# a list
people: &all
  - name: ada
    age: 36
    notes: |
      first
      second
  - {name: bob, age: 29, tags: [x, "y z", 'it''s']}
same: *all
empty: ~
long: >
  folded
  text
? [a, b]
: !tagged 0x1F
`
	wholeProto = `syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
option java_package = "org.shop";
// An order.
message Order {
  int64 id = 1; string who = 2; repeated Line lines = 3; map<string, double> extra = 4;
  oneof paid { bool cash = 5; string card = 6; }
  enum State { NEW = 0; SENT = 1; LOST = 7; }
  State state = 8; google.protobuf.Timestamp at = 9;
  message Line { string item = 1; int32 count = 2; reserved 3 to 5; }
}
service Shop { rpc Buy(Order) returns (stream Order.Line); }
`
	wholeJust = `name := "x" + "y"
up := uppercase(name)
n := if up == "XY" { "same" } else { "other" }

# everything
all count="1": first (second count)
    @echo all {{count}} {{n}}

first:
    @echo first

second times:
    @for i in $(seq {{times}}); do echo turn $i; done

fails:
    @exit 7
`
)
