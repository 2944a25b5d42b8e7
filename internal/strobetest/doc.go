// Package strobetest owns the fixtures that tests of several packages share: the programs of
// testdata/targets built once per set of flags, larger corpora (Lua, SQLite, generated programs),
// what a test needs of the machine, and checks that nothing leaks.
//
// It is imported from tests only and has no place in the data path. Built programs live in a
// cache outside the tree, keyed by compiler, flags and sources, so two test binaries never build
// the same thing twice and never see each other's half-written files.
package strobetest
