package capture

import "github.com/strobe-debug/strobe/internal/symbol"

// libstdcxx knows the types of GCC's C++ library, of both ABIs of its strings.
var libstdcxx = []*formatter{
	{"libstdc++ string", template("std::basic_string"), gnuString},
	{"libstdc++ string_view", template("std::basic_string_view"), gnuView},
	{"libstdc++ path", template("std::filesystem::path"), alias(path{"_M_pathname"})},

	{"libstdc++ vector", template("std::vector"), gnuVector},
	{"libstdc++ array", template("std::array"), gnuArray},
	{"libstdc++ deque", template("std::deque"), gnuDeque},
	{"libstdc++ span", template("std::span"), gnuSpan},
	{"libstdc++ initializer_list", template("std::initializer_list"), gnuInitializers},
	{"libstdc++ valarray", template("std::valarray"), gnuValarray},
	{"container adaptor", template("std::stack", "std::queue", "std::priority_queue"), alias(path{"c"})},

	{"libstdc++ list", template("std::list"), gnuList},
	{"libstdc++ forward_list", template("std::forward_list"), gnuForwardList},
	{"libstdc++ map", template("std::map"), func(f *form) bool { return gnuTree(f, true) }},
	{"libstdc++ set", template("std::set", "std::multiset", "std::multimap"),
		func(f *form) bool { return gnuTree(f, false) }},
	{"libstdc++ unordered_map", template("std::unordered_map"), func(f *form) bool { return gnuHash(f, true) }},
	{"libstdc++ unordered_set", template("std::unordered_set", "std::unordered_multiset", "std::unordered_multimap"),
		func(f *form) bool { return gnuHash(f, false) }},

	{"pair", template("std::pair"), pair},
	{"libstdc++ tuple", template("std::tuple"), gnuTuple},
	{"libstdc++ optional", template("std::optional"), gnuOptional},
	{"libstdc++ variant", template("std::variant"), gnuVariant},
	{"libstdc++ any", template("std::any"), gnuAny},

	{"libstdc++ unique_ptr", template("std::unique_ptr"), gnuUnique},
	{"libstdc++ shared_ptr", template("std::shared_ptr", "std::__shared_ptr"),
		func(f *form) bool { return gnuShared(f, false) }},
	{"libstdc++ weak_ptr", template("std::weak_ptr", "std::__weak_ptr"), func(f *form) bool { return gnuShared(f, true) }},
	{"libstdc++ reference_wrapper", template("std::reference_wrapper"), gnuReference},
	{"libstdc++ function", template("std::function"), gnuFunction},

	{"libstdc++ duration", template("std::chrono::duration"), gnuDuration},
	{"libstdc++ time_point", template("std::chrono::time_point"), gnuTime},
	{"libstdc++ complex", template("std::complex"), gnuComplex},
	{"libstdc++ bitset", template("std::bitset"), gnuBitset},
	{"libstdc++ atomic", template("std::atomic", "std::atomic_flag"),
		alias(path{"_M_i"}, path{"_M_base", "_M_i"}, path{"_M_fp"}, path{"_M_b", "_M_p"})},
	{"libstdc++ thread", template("std::thread::id", "std::thread"), alias(path{"_M_thread"}, path{"_M_id", "_M_thread"})},
}

// isClass reports whether a type is an instance of a class template of that unqualified name.
func isClass(t *symbol.Type, name string) bool {
	return t != nil && t.Kind == symbol.KindStruct && len(t.Name) > len(name) && t.Name[:len(name)] == name &&
		t.Name[len(name)] == '<'
}
