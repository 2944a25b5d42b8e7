package js

import (
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// viteFiles are a workspace in which a tool, installed above the package, does what Vite does with a configuration.
var viteFiles = map[string]string{
	"node_modules/tool/bin.mjs": `import fs from 'node:fs';
const temp = process.argv[2] + '/node_modules/.vite-temp', file = temp + '/vite.config.ts.timestamp-1-a.mjs';
const map = { version: 3, sources: ['../../vite.config.ts'], names: [], mappings: 'AAAA;AACA,iBAAiB' };
fs.mkdirSync(temp, { recursive: true });
fs.writeFileSync(file, 'function stamp(code) { return code + 1; }\n'
  + 'export default { transform(code) { return stamp(code); } };\n'
  + '//# sourceMappingURL=data:application/json;base64,' + Buffer.from(JSON.stringify(map)).toString('base64'));
const { default: config } = await import('file://' + file);
console.log(config.transform(1));
`,
	"app/vite.config.ts": `function stamp(code: number) { return code + 1; }
export default { transform(code: number) { return stamp(code); } };
`,
}

// TestConfigurationOfVite: Vite loads its configuration as a bundle in node_modules. Its functions are the user's, by
// the names that they have in the user's file, also where Vite is installed above the project.
func TestConfigurationOfVite(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, dir, viteFiles)
	app := filepath.Join(dir, "app")
	for _, in := range strobetest.Nodes(t) {
		r := runIn(t, in, app, everything, filepath.Join(dir, "node_modules/tool/bin.mjs"), app)
		same(t, in.Name+"'s output", r.stdout, "2\nexit status 0")
		same(t, in.Name+"'s calls", r.calls, `function_enter main vite.config.default.transform {"code":1}
function_enter main vite.config.stamp {"code":1}
function_exit main vite.config.stamp 2
function_exit main vite.config.default.transform 2`)
	}
}
