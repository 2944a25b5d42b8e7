package js

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// packageFiles are a program with two packages, of which one's name begins as the other's does.
var packageFiles = map[string]string{
	"main.js":                        "function own(n) { return require('pack').twice(n) + require('packer').half(n); }\nconsole.log(own(4));\n",
	"node_modules/pack/index.js":     "exports.twice = require('./lib/twice').twice;\n",
	"node_modules/pack/lib/twice.js": "exports.twice = function twice(n) { return add(n, n); };\nfunction add(a, b) { return a + b; }\n",
	"node_modules/packer/index.js":   "exports.half = function half(n) { return n / 2; };\n",
}

// TestPackagesByName: functions of packages are traced where a pattern begins with their package's name, and no others
// are.
func TestPackagesByName(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, dir, packageFiles)
	const twice, add = `function_enter main pack.lib.twice.twice {"n":4}
`, `function_enter main pack.lib.twice.add {"a":4,"b":4}
function_exit main pack.lib.twice.add 8
`
	for _, in := range strobetest.Nodes(t) {
		for glob, want := range map[string]string{
			"pack.lib.t**":       twice + add + "function_exit main pack.lib.twice.twice 8",
			"pack.lib.twice.add": add[:len(add)-1],
			"pac**":              "",
			"packer.index.half":  "function_enter main packer.index.half {\"n\":4}\nfunction_exit main packer.index.half 2",
		} {
			rules := []agentlink.Rule{{ID: 1, Glob: glob, On: "name", Depth: 3}}
			r := runIn(t, in, dir, rules, filepath.Join(dir, "main.js"))
			same(t, in.Name+"'s output", r.stdout, "10\nexit status 0")
			same(t, in.Name+"'s calls by "+glob, r.calls, want)
		}
	}
}

// TestPackageAlone: of a program that is a package's itself, as npx runs it, and has no file of the user's, nothing was
// traced by the package's name.
func TestPackageAlone(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, dir, map[string]string{
		"node_modules/tool/bin/tool.js": "console.log(require('../lib/add').add(1, 2));\n",
		"node_modules/tool/lib/add.js":  "exports.add = function add(a, b) { return a + b; };\n",
		"node_modules/.bin/tool":        "require('../tool/bin/tool.js');\n",
	})
	for _, in := range strobetest.Nodes(t) {
		for glob, want := range map[string]string{
			"tool.**":  "function_enter main tool.lib.add.add {\"a\":1,\"b\":2}\nfunction_exit main tool.lib.add.add 3",
			"other.**": "",
		} {
			r := runIn(t, in, dir, []agentlink.Rule{{ID: 1, Glob: glob, On: "name", Depth: 3}},
				filepath.Join(dir, "node_modules/.bin/tool"))
			same(t, in.Name+"'s output", r.stdout, "3\nexit status 0")
			same(t, in.Name+"'s calls by "+glob, r.calls, want)
		}
	}
}

// writeAll writes files below a folder.
func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
