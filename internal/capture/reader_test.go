//go:build linux && amd64

package capture

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/symbol"
)

const readerProgram = `
#include <map>
#include <memory>
#include <string>
#include <vector>
#include <cstdio>
enum Color { RED, GREEN };
struct Node { int id; Node *next; const char *name; };
struct Shape { virtual ~Shape() {} int sides = 0; };
struct Square : Shape { int width = 7; Square() { sides = 4; } };
int number = -42;
unsigned char byte = 200;
double half = 0.5;
Color color = GREEN;
const char *text = "some text";
const char *nowhere = (const char *)16;
Node tail{2, nullptr, "tail"}, head{1, &tail, "head"}, ring{3, &ring, "ring"};
std::string word = "a string that does not fit the object itself";
std::vector<int> numbers{1, 2, 3};
std::map<std::string, int> ages{{"ann", 30}, {"bob", 40}};
std::unique_ptr<Shape> shape = std::make_unique<Square>();
int table[3] = {7, 8, 9};
int main() { puts("ready"); fflush(stdout); getchar(); }
`

// TestReader reads variables of every sort from a process that has nothing of ours in it.
func TestReader(t *testing.T) {
	bin := build(t, "reader.cc", readerProgram, "g++", "-g", "-O0", "-std=c++17")
	p := strobetest.StartWaiting(t, bin)
	p.Out.Read(make([]byte, 8))
	m, err := symbol.Open(bin, symbol.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	base := loadBase(t, p.PID, bin, m)
	r := NewReader(p, 3, nil, nil, nil)
	for name, want := range map[string]string{
		"number": `-42`, "byte": `200`, "half": `0.5`, "color": `"GREEN"`, "text": `"some text"`,
		"nowhere": `"0x10 <unreadable>"`,
		"head":    `{"id":1,"next":{"id":2,"next":null,"name":"tail"},"name":"head"}`,
		"word":    `"a string that does not fit the object itself"`,
		"numbers": `[1,2,3]`, "ages": `{"ann":30,"bob":40}`, "table": `[7,8,9]`,
		"shape": `{"$type":"Square","sides":4,"width":7}`,
		"ring":  `{"id":3,"next":{"id":3,"next":"<circular ref to`,
	} {
		vs := m.Variables(name)
		if len(vs) != 1 {
			t.Errorf("%d variables named %s", len(vs), name)
			continue
		}
		got := string(r.Object(vs[0].Type, symbol.LangCPP, base+uint64(vs[0].Addr)).AppendJSON(nil))
		if got != want && !(strings.HasSuffix(want, "to") && strings.HasPrefix(got, want)) {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	v := m.Variables("number")[0]
	if got := string(r.Bytes(v.Type, symbol.LangCPP, []byte{1, 1, 0, 0}).AppendJSON(nil)); got != "257" {
		t.Errorf("four bytes = %s, want 257", got)
	}
	if got := string(r.Bytes(m.Variables("text")[0].Type, symbol.LangCPP,
		make([]byte, 8)).AppendJSON(nil)); got != "null" {
		t.Errorf("a null pointer in a register = %s", got)
	}
}
