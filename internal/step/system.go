package step

import "strings"

// systemSources are parts of the paths of source that comes with the system and with compilers.
var systemSources = []string{"/usr/include/", "/include/c++/", "/lib/gcc/", "/lib/clang/", "/lib/llvm-", "/rustc/",
	"/lib/rustlib/", "/libstdc++-v3/", "/libcxx/", "/libcxxabi/"}

// SystemSource reports whether a source file is the standard library's or a header of the system. Names within a build
// of those are no paths from the root.
func SystemSource(file string) bool {
	for _, part := range systemSources {
		if strings.Contains(file, part) {
			return true
		}
	}
	return strings.HasPrefix(file, "./") || strings.HasPrefix(file, "../")
}
