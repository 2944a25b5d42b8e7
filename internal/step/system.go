package step

import (
	"slices"
	"strings"
)

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

// goTop are the folders of Go's standard library.
var goTop = strings.Fields("archive bufio bytes cmp compress container context crypto database debug embed encoding " +
	"errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect " +
	"regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak")

// GoLibrary reports whether a source file is Go's standard library's, of a program that was built without the paths of
// the machine.
func GoLibrary(file string) bool {
	top, _, ok := strings.Cut(file, "/")
	return ok && slices.Contains(goTop, top)
}
