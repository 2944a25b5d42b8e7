package service

import "strings"

// defaultArguments begin the template arguments that nobody writes: containers of C++'s library have them by default,
// and Rust's.
var defaultArguments = []string{", std::char_traits<", ", std::allocator<", ", std::less<", ", std::hash<",
	", std::equal_to<", ", std::default_delete<",
	", alloc::alloc::Global", ", std::hash::random::RandomState"}

// shortType is a type's name without what its reader pays for and does not need: vector<int>, not vector<int,
// std::allocator<int> >. It can be cast to by that name, too.
func shortType(name string) string {
	name = strings.NewReplacer("std::__cxx11::", "std::", "std::__1::", "std::").Replace(name)
	for _, arg := range defaultArguments {
		for from := 0; ; {
			at := strings.Index(name[from:], arg)
			if at < 0 {
				break
			}
			at += from
			end := at + len(arg)
			if strings.HasSuffix(arg, "<") {
				if end = closing(name, end); end < 0 {
					return name
				}
			}
			if next := strings.TrimLeft(name[end:], " "); next != "" && next[0] != '>' && next[0] != ',' { // of a longer name
				from = end
				continue
			}
			name = name[:at] + name[end:]
			from = at
		}
	}
	name = strings.NewReplacer("std::basic_string<char>", "std::string", "std::basic_string<char >", "std::string", " >",
		">").Replace(name)
	if name == "basic_string<char>" {
		return "string"
	}
	return name
}

// closing returns the place behind the > that closes the < before from, or -1.
func closing(name string, from int) int {
	depth := 1
	for i := from; i < len(name); i++ {
		switch name[i] {
		case '<', '(':
			depth++
		case '>', ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
