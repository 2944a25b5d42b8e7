package expr

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

func TestEvalCPP(t *testing.T) {
	cases := []evalCase{
		{"number", "5"}, {"item.ref", "5"}, {"&item.ref == &number", "true"}, {"ptr->ref * 2", "10"},
		{"item.name", `"apple"`}, {`item.name == "apple"`, "true"}, {`ptr->name != "pear"`, "true"},
		{"item.base_id", "11"}, {"ptr->mixed", "12"}, {"item.Mixin.mixed", "12"}, {"item.count", "99"},
		{"shop::Item::count", "99"}, {"item.mode", `"on"`}, {"item.mode == shop::Mode::on", "true"},
		{"item.mode == off", "false"},
		{"shortText", `"short"`}, {"longText", `"a text that is too long for the inside of a string"`}, {"empty", `""`},
		{`empty == ""`, "true"}, {`shortText == "short"`, "true"}, {`"longer" == shortText`, "false"},
		{`longText == "a text that is too long for the inside of a string"`, "true"},
		{"len(shortText)", "5"}, {"len(longText)", "50"}, {"len(view)", "6"}, {`view == "a view"`, "true"},
		{"view", `"a view"`}, {"shortText == longText", "false"}, {"shortText == shortText", "true"},
		{`shortText > "a"`, "error: == and != only"},
		{"ints.size() == 5 && !ints.empty()", "true"}, {"empty.empty() == true", "true"}, {"item.name.length() + 1", "6"},
		{"view.size(1)", "error: size takes no arguments"}, {"view.substr(1)", "error: a call is not possible"},
		{"len(ints)", "5"}, {"ints[4]", "5"}, {"ints[5]", "error: index 5 is out of range: there are 5 elements"},
		{"ints[0] + ints[1]", "4"}, {"ints[-1]", "error: index -1 is out of range"}, {"items[0]->name", `"apple"`},
		{"items[1] == nullptr", "true"}, {"items[1]->name", "error: null pointer"},
		{`names[1] == "two"`, "true"}, {"names[0]", `"one"`}, {"names[ints[1]]", `"two"`}, {"arr[2]", "9"}, {"len(arr)", "3"},
		{"arr[3]", "error: out of range"},
		{"unique->name", `"unique"`}, {"(*unique).ref", "5"}, {"unique != nullptr", "true"}, {"none == nullptr", "true"},
		{"*none", "error: null pointer"}, {"shared->name", `"shared"`},
		{`shared->name == "shared" && unique->base_id == 11`, "true"},
		{"wide", `"€"`}, {"wide == u'€'", "true"}, {"reinterpret_cast<shop::Item *>(ptr)->base_id", "11"},
		{"((shop::Base *)ptr)->base_id", "11"}, {"*(shop::Item *)ptr", "object of Item"}, {"item", "object of Item"},
		{"ptr.nam", "error: Did you mean name"},
		{"static_cast<std::string*>(&shortText) == &shortText", "true"},
		{`shortText ? 1 : 2`, "error: neither true nor false"}, {"true + true", "2"}, {"'a' == 97", "true"},
	}
	t.Run("libstdc++", func(t *testing.T) {
		runCases(t, start(t, "vars.cpp", "g++", "-O0", "-std=c++17"), symbol.LangCPP, cases)
	})
	t.Run("libc++", func(t *testing.T) {
		runCases(t, start(t, "vars.cpp", "clang++", "-O0", "-std=c++17", "-stdlib=libc++", "-fstandalone-debug"),
			symbol.LangCPP, cases)
	})
	t.Run("clang", func(t *testing.T) {
		runCases(t, start(t, "vars.cpp", "clang++", "-O0", "-std=c++17", "-fstandalone-debug"), symbol.LangCPP, cases)
	})
}

// TestThis gives bare names inside a method their meaning: members, before globals of the same name.
func TestThis(t *testing.T) {
	p := start(t, "vars.cpp", "g++", "-O0", "-std=c++17")
	in := &inMethod{target: p, this: p.vars["ptr"]}
	for _, tc := range []evalCase{{"base_id", "11"}, {`name == "apple"`, "true"}, {"number + mixed", "17"},
		{"this->mixed", "12"}, {"count", "99"}} {
		e, err := New(tc.src, symbol.LangCPP, in)
		if err != nil {
			t.Errorf("%s: %v", tc.src, err)
			continue
		}
		r, err := e.Eval(p.env())
		if got := string(r.Value.AppendJSON(nil)); err != nil || got != tc.want {
			t.Errorf("%s = %s, %v, want %s", tc.src, got, err, tc.want)
		}
	}
}

type inMethod struct {
	*target
	this Place
}

func (m *inMethod) Lookup(name string) (Place, bool) {
	if name == "this" {
		return m.this, true
	}
	return m.target.Lookup(name)
}

func TestEvalRust(t *testing.T) {
	cases := []evalCase{
		{"num", "-5"}, {"num + 1", "-4"}, {"byte", "200"}, {"byte + 100", "44"}, {"byte == 200", "true"},
		{"byte == 300", "error: the number does not fit"}, {"byte as i32 + num", "195"},
		{"byte + num", "error: has u8 on its left and i32 on its right"},
		{"big == u64::MAX", "error: u64::MAX is not known"}, {"big", "18446744073709551615"}, {"big + 1", "0"},
		{"big as u8", "255"}, {"wide", "18446744073709551622"}, {"wide as u64", "6"}, {"ch", `"é"`}, {"ch == 'é'", "true"},
		{"ch as u32", "233"}, {"flag && !false", "true"}, {"!num", "4"}, {"!flag", "false"},
		{"f * 10.0", "1"}, {"f < 1", "true"}, {"f as i32", "0"}, {"-1.5 as u8", "0"}, {"num & 3 == 3", "true"},
		{"num >> 1", "-3"}, {"1u8 << 9", "2"}, {"num == 5 || num == -5", "true"}, {"num == 1 == true", "error: chained"},
		{"text", `"static text"`}, {`text == "static text"`, "true"}, {`text == "static"`, "false"}, {"len(text)", "11"},
		{"owned", `"owned text"`}, {`owned == "owned text"`, "true"}, {`none == ""`, "true"}, {"none", `""`},
		{"owned == text", "false"}, {"len(owned)", "10"},
		{"v.len() > 3", "true"}, {"owned.is_empty()", "false"},
		{"none.is_empty() && some.is_some() && nope.is_none()", "true"}, {"fine.is_err()", "false"},
		{"bad.is_err() != fine.is_err()", "true"}, {"num.is_some()", "error: Some is not known"}, {"v[2]", "5"},
		{"len(v)", "4"}, {"v[4]", "error: index 4 is out of range: there are 4"}, {"points[1].x + points[0].y", "7"},
		{"points[1].pair.1", "8"}, {"points[0].pair.0", "3"}, {"slice[1]", "20"}, {"slice[3]", "error: out of range"},
		{"len(slice)", "3"}, {"arr[2]", "-3"}, {"len(arr)", "3"},
		{"boxed.x", "30"}, {"(*boxed).y", "40"}, {"boxed.pair.1", "60"}, {"tuple.0", "1"}, {"tuple.1.0", "2"},
		{"tuple.1.1", "true"}, {"*link", "7"}, {"link == 7", "true"}, {"*link + 1", "8"}, {"link + 1", "8"},
		{"level", `"Low"`}, {"level == Level::Low", "true"}, {"level == High", "false"}, {`level == "Low"`, "true"},
		{"node.name", `"root"`}, {`node.name == "root"`, "true"}, {"node.tag", `"a tag"`}, {"node.at.x", "3"},
		{"node.at.pair.1", "-10"}, {"node.level == Level::High", "true"}, {"node.at", "object of Point"},
		{"strs[1]", `"dos"`}, {`strs[0] == "uno"`, "true"}, {"node.nam", "error: Did you mean name"},
		{"1_000 + 0xff", "1255"}, {"5u8 + 1", "6"}, {"b'a'", "97"}, {"byte == 'a'", "false"}, {`r"a" == "a"`, "true"},
		{`r#"a"b"# == "a\"b"`, "true"}, {"010", "10"}, {"&num as *const i32 as usize == 0", "false"},
		{"*(&num as *const i32)", "-5"}, {"len(strs)", "2"},
		{"some.Some.0", "-12"}, {"some == None", "false"}, {"some != null", "true"}, {"nope == null && nope == None", "true"},
		{"nope.Some.0", "error: the value is not Some here"}, {"some.None", "error: has nothing in it"},
		{"some == Option::None", "false"},
		{"next.Some.0.x", "70"}, {"next != null && next.Some.0.pair.1 == 73", "true"}, {"last == null", "true"},
		{"last.Some.0.x", "error: not Some"}, {"circle.Circle.0 * 2", "10"}, {"circle == Shape::Circle", "true"},
		{"circle == Rect", "false"}, {"rect.Rect.w", "6"}, {"rect.Rect.h", "-7"}, {"hollow == Empty", "true"},
		{"hollow.Circle.0", "error: the value is not Circle"}, {"circle == Square", "error: Square is not known"},
		{"fine == Ok && bad == Err", "true"}, {"fine.Ok.0", "8"}, {`bad.Err.0 == "broken"`, "true"},
		{"bad.Ok.0", "error: not Ok"}, {"ord.Some.0 == None", "true"}, {"ord == None", "false"},
		{"circle > Rect", "error: == and != only"},
		{"node.next == null", "true"}, {"circle.Circl", "error: Did you mean Circle"}, {"circle", "object of Shape"},
		{"'\\u{e9}' == ch", "true"}, {"num / 0", "error: division by zero"}, {"num % 3", "-2"},
		{"i32 + 1", "error: i32 is not known"}, {"300u8", "error: does not fit u8"},
	}
	for _, flags := range [][]string{{"-C", "opt-level=0"}, {"-C", "opt-level=3"}} {
		t.Run(flags[1], func(t *testing.T) { runCases(t, start(t, "vars.rs", "rustc", flags...), symbol.LangRust, cases) })
	}
}
