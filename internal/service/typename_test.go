package service

import "testing"

func TestShortType(t *testing.T) {
	const text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
	for name, want := range map[string]string{
		"int[2][3]":                         "int[2][3]",
		"vector<int, std::allocator<int> >": "vector<int>",
		"vector<" + text + ", std::allocator<" + text +
			" > >": "vector<std::string>",
		"basic_string<char, std::char_traits<char>, " +
			"std::allocator<char>>": "string",
		"map<" + text + ", int, std::less<" + text + " >, std::allocator<std::pair<const " + text +
			", int> > >": "map<std::string, int>",
		"unordered_map<int, " + text + ", std::hash<int>, std::equal_to<int>, std::allocator<std::pair<int const, " + text +
			" > > >*": "unordered_map<int, std::string>*",
		"unique_ptr<Inner, std::default_delete<Inner> >":    "unique_ptr<Inner>",
		"set<int, std::greater<int>, std::allocator<int> >": "set<int, std::greater<int>>",
		"vector<int, own::pool<int> >":                      "vector<int, own::pool<int>>",
		"HashMap<alloc::string::String, i32, std::hash::random::RandomState, " +
			"alloc::alloc::Global>": "HashMap<alloc::string::String, i32>",
		"Vec<alloc::boxed::Box<dyn shop::Cost, alloc::alloc::Global>, " +
			"alloc::alloc::Global>": "Vec<alloc::boxed::Box<dyn shop::Cost>>",
		"function<void(std::vector<int, std::allocator<int> >, " +
			"std::allocator<int>)>": "function<void(std::vector<int>, std::allocator<int>)>",
		"broken<int, std::allocator<int": "broken<int, std::allocator<int",
	} {
		if got := shortType(name); got != want {
			t.Errorf("shortType(%q) = %q, want %q", name, got, want)
		}
	}
}
