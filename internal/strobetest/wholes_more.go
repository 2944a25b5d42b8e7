package strobetest

// MoreWholes lists programs that were tried once everything ran with Wholes: none was looked at before.
var MoreWholes = []Whole{
	{Name: "xz", Lang: "c", From: "debian:xz-utils", Optimised: true,
		Unset: []string{"st_ino", "args"},
		Build: `CFLAGS="-g -O2" ./configure --disable-shared --disable-doc --disable-nls; make`, Program: "src/xz/xz",
		Script: `"$P" -k -T1 -9 words && cksum words.xz && "$P" -dc words.xz | cmp - words && "$P" -lv words.xz; ` +
			`"$P" -d words`,
		Args: []string{"-k", "-T1", "-f", "words"}, Files: map[string]string{"words": wholeWords}},
	{Name: "lz4", Lang: "c", From: "debian:lz4", Optimised: true, Unset: []string{"statbuf"},
		Build:   `make -C programs lz4 CFLAGS="-g -O3"`,
		Program: "programs/lz4",
		Script: `"$P" -q -9 words w.lz4 && cksum w.lz4 && "$P" -dc w.lz4 | cmp - words; "$P" -b1 -i0 words ` +
			`>/dev/null 2>&1; echo $?; "$P" -d words`,
		Args: []string{"-q", "-f", "words", "w.lz4"}, Files: map[string]string{"words": wholeWords}},
	{Name: "m4", Lang: "c", From: "debian:m4", Unset: []string{"maybe_empty_object", "rof", "vma"},
		Build: `CFLAGS="-g -O0" ./configure; make MAKEINFO=true`, Program: "src/m4",
		Script: `"$P" main.m4; "$P" bad.m4; echo $?`, Args: []string{"main.m4"},
		Files: map[string]string{"bad.m4": "define(`a', `b\n", "main.m4": "define(`fact', `ifelse($1, 0, 1, " +
			"`eval($1 * fact(decr($1)))')')dnl\nfact(7) len(`some text') substr(`abcdef', 2, 3)\n" +
			"define(`each', `ifelse(`$#', 0, , `$#', 1, `<$1>', `<$1>each(shift($@))')')each(a, b, c)\n" +
			"regexp(`GNUs not Unix', `\\<[a-z]\\w+') format(`%05d|%-6s|', 42, `x')\n"}},
	{Name: "jsoncpp", Lang: "cpp", From: "debian:libjsoncpp", Early: true, Unset: []string{"bits_"},
		Build: `g++ -g -O0 -Iinclude -o check src/jsontestrunner/main.cpp \
  src/lib_json/*.cpp`, Program: "check",
		Script: `"$P" data.json; echo $?; cat data.actual data.rewrite; "$P" bad.json; echo $?`,
		Args:   []string{"data.json"},
		Files:  map[string]string{"data.json": wholeJSON, "bad.json": "{\"a\": [1, }\n"}},
	{Name: "minisat", Lang: "cpp", From: "debian:minisat2", Optimised: true, Early: true, Needs: []string{"zlib1g-dev"},
		Build: `g++ -g -O2 -w -fpermissive -std=c++11 -D__STDC_LIMIT_MACROS -D__STDC_FORMAT_MACROS -I. -o solve ` +
			`minisat/core/Main.cc minisat/core/Solver.cc minisat/utils/*.cc -lz`, Program: "solve",
		Script: `"$P" -verb=0 a.cnf out; echo $?; cat out; "$P" -verb=0 b.cnf; echo $?`,
		Args:   []string{"-verb=0", "a.cnf"},
		Files: map[string]string{"a.cnf": "p cnf 5 6\n1 -2 3 0\n-1 4 0\n2 -5 0\n-3 -4 5 0\n1 5 0\n-2 -4 0\n",
			"b.cnf": "p cnf 2 4\n1 2 0\n-1 2 0\n1 -2 0\n-1 -2 0\n"}},
	{Name: "cppcheck", Lang: "cpp", From: "debian:cppcheck", Unset: []string{"_pool"},
		Build:   `make -j2 CXXFLAGS="-g -O0" MATCHCOMPILER=no cppcheck`,
		Program: "cppcheck", Script: `"$P" -q --enable=style main.c; "$P" -q broken.c; "$P" nowhere.c`,
		Args: []string{"-q", "main.c"},
		Files: map[string]string{"main.c": "int f(int n) { int a[3]; return a[n + 3 - n]; }\n",
			"broken.c": "int f( { return 1 + ; }\n"}},
	{Name: "sd", Lang: "rust", From: "crate:sd@1.0.0", Build: cargoBuild, Program: "target/debug/sd",
		Script: `"$P" '(b[a-z]*)' '<$1>' <words; "$P" -s w.d W.D <words; "$P" '(' x <words; echo $?`,
		Args:   []string{"-p", "w([a-z]+)", "<$1>", "words"}, Files: map[string]string{"words": wholeWords}},
	{Name: "pastel", Lang: "rust", From: "crate:pastel@0.12.0", Build: cargoBuild, Program: "target/debug/pastel",
		Script: `"$P" format hex 'rgb(1,200,3)'; "$P" mix red blue | "$P" format lch; "$P" list | head -3; "$P" color ` +
			`nocolor; ` +
			`echo $?; "$P" -m 24bit gradient -n 4 red yellow`, Args: []string{"format", "lab", "rebeccapurple"}},
	{Name: "csview", Lang: "rust", From: "crate:csview@1.3.4", Build: cargoBuild, Program: "target/debug/csview",
		Script: `"$P" a.csv; "$P" --style markdown a.csv; "$P" -H -d ';' a.csv; "$P" nowhere.csv`, Args: []string{"a.csv"},
		Files: map[string]string{"a.csv": "name,count,note\nfirst,1,\"a, b\"\nzweite,22,ü\nlast,333,\n"}},
	{Name: "lsd", Lang: "rust", From: "crate:lsd@1.2.0", Build: cargoBuild,
		// gdb reads Rust's own results of 12 bytes, which are in memory, as C would have them
		Unset:   []string{"group_write", "group_execute", "group_read", "user_execute"},
		Program: "target/debug/lsd",
		Script: `mkdir -p d/e; touch d/a d/e/b; chmod 600 d/a; "$P" --tree --icon never --color never d; "$P" -1 --icon ` +
			`always --color always d; "$P" nowhere; echo $?`, Args: []string{"-1", "--icon", "never", "words"},
		Files: map[string]string{"words": wholeWords}},
}
