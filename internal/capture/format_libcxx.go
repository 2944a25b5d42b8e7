package capture

// libcxx knows the types of LLVM's C++ library, as of version 14 and later ones that name a member otherwise.
var libcxx = []*formatter{
	{"libc++ string", template("std::basic_string"), llvmString},
	{"libc++ string_view", template("std::basic_string_view"), llvmView},
	{"libc++ path", template("std::filesystem::path", "std::__fs::filesystem::path"), alias(path{"__pn_"})},

	{"libc++ vector", template("std::vector"), llvmVector},
	{"libc++ array", template("std::array"), llvmArray},
	{"libc++ deque", template("std::deque"), llvmDeque},
	{"libc++ span", template("std::span"), llvmSpan},
	{"libc++ initializer_list", template("std::initializer_list"), llvmInitializers},
	{"libc++ valarray", template("std::valarray"),
		func(f *form) bool { return f.between([]path{{"__begin_"}}, []path{{"__end_"}}) }},

	{"libc++ list", template("std::list"), llvmList},
	{"libc++ forward_list", template("std::forward_list"), llvmForwardList},
	{"libc++ map", template("std::map"), func(f *form) bool { return llvmTree(f, true) }},
	{"libc++ set", template("std::set", "std::multiset", "std::multimap"),
		func(f *form) bool { return llvmTree(f, false) }},
	{"libc++ unordered_map", template("std::unordered_map"), func(f *form) bool { return llvmHash(f, true) }},
	{"libc++ unordered_set", template("std::unordered_set", "std::unordered_multiset", "std::unordered_multimap"),
		func(f *form) bool { return llvmHash(f, false) }},

	{"libc++ tuple", template("std::tuple"), llvmTuple},
	{"libc++ optional", template("std::optional"), llvmOptional},
	{"libc++ variant", template("std::variant"), llvmVariant},
	{"libc++ any", template("std::any"), llvmAny},

	{"libc++ unique_ptr", template("std::unique_ptr"), llvmUnique},
	{"libc++ shared_ptr", template("std::shared_ptr"), func(f *form) bool { return llvmShared(f, false) }},
	{"libc++ weak_ptr", template("std::weak_ptr"), func(f *form) bool { return llvmShared(f, true) }},
	{"libc++ reference_wrapper", template("std::reference_wrapper"),
		func(f *form) bool { return f.reference(path{"__f_"}) }},
	{"libc++ function", template("std::function"), llvmFunction},

	{"libc++ duration", template("std::chrono::duration"), llvmDuration},
	{"libc++ time_point", template("std::chrono::time_point"), llvmTime},
	{"libc++ complex", template("std::complex"), func(f *form) bool { return f.complexOf(path{"__re_"}, path{"__im_"}) }},
	{"libc++ bitset", template("std::bitset"), func(f *form) bool { return f.bits(path{"__first_"}) }},
	{"libc++ atomic", template("std::atomic", "std::atomic_flag"), alias(path{"__a_", "__a_value"})},
	{"libc++ thread", template("std::__thread_id", "std::thread::id", "std::thread"), alias(path{"__id_"}, path{"__t_"})},
}
