package testadapter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// managed is a project of two files of tests, whose packages a manager has installed, with that manager in PATH.
func managed(t *testing.T, manager, framework, version, test string, more ...string) *testadapter.Project {
	t.Helper()
	strobetest.NodeModules(t) // for node
	bin := strobetest.NodeManager(t, manager)
	p := files(t, append([]string{"package.json", `{"private": true, "scripts": {"test": "` + framework +
		`"}, "devDependencies": {"` + framework + `": "` + version + `"}}`,
		"test/one.test.js", test}, more...)...)
	withTool(p, "yarn", filepath.Join(bin, "yarn"))
	registry, err := exec.Command("npm", "config", "get", "registry").Output()
	if err != nil {
		t.Fatal(err)
	}
	// CI has them refuse to write a lock file.
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "CI=") || strings.HasPrefix(v, "GITHUB_")
	})
	cache, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "YARN_CACHE_FOLDER="+filepath.Join(cache, manager), "YARN_GLOBAL_FOLDER="+
		filepath.Join(cache, manager), "npm_config_store_dir="+filepath.Join(cache, manager))
	env = append(env, "YARN_NPM_REGISTRY_SERVER="+strings.TrimSpace(string(registry)), "YARN_ENABLE_TELEMETRY=0",
		"YARN_ENABLE_SCRIPTS=0", "YARN_ENABLE_IMMUTABLE_INSTALLS=0")
	_, err = strobetest.Fetch(func() *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, strings.TrimSuffix(manager, "-berry")), "install")
		cmd.Dir, cmd.Env = p.Root, env
		return cmd
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	mochaTest = "it('passes', () => {});\nit('fails', () => {\n  throw new Error('so it does');\n});\n"
	jestTest  = "test('passes', () => {});\ntest('fails', () => {\n  throw new Error('so it does');\n});\n"
)

// TestNodeManagers: frameworks run as pnpm and Yarn install them: behind symbolic links, and with no node_modules at
// all.
func TestNodeManagers(t *testing.T) {
	for _, c := range []struct {
		manager, framework, version, test string
		a                                 testadapter.Adapter
	}{
		{"pnpm", "mocha", "11.7.1", mochaTest, testadapter.Mocha{}},
		{"yarn", "mocha", "11.7.1", mochaTest, testadapter.Mocha{}},
		{"yarn-berry", "jest", "29.7.0", jestTest, testadapter.Jest{}},
	} {
		t.Run(c.manager, func(t *testing.T) {
			t.Parallel()
			more := []string{}
			if c.manager == "yarn-berry" {
				more = []string{"yarn.lock", "", ".yarnrc.yml", ""}
			}
			p := managed(t, c.manager, c.framework, c.version, c.test, more...)
			path := filepath.Join(strobetest.NodeManager(t, c.manager)) + string(os.PathListSeparator) + os.Getenv("PATH")
			got := ended(strobetest.RunAdapterIn(t, c.a, p, testadapter.Request{}, "PATH="+path))
			if one, two := got["test/one.test.js > passes"], got["test/one.test.js > fails"]; len(got) != 2 || one == nil ||
				one.Status != testadapter.Passed ||
				two == nil || two.Status != testadapter.Failed || two.Failures[0].Line != 3 {
				t.Fatalf("%q: %+v", keys(got), got["(run)"])
			}
			again := c.a.Rerun(p, &testadapter.Request{}, got["test/one.test.js > fails"])
			if one := ended(strobetest.RunAdapterIn(t, c.a, p, testadapter.Request{Test: again.Test},
				"PATH="+path)); len(one) != 1 || one["test/one.test.js > fails"] == nil {
				t.Errorf("%q ran %q", again.Test, keys(one))
			}
			if c.manager != "yarn-berry" {
				return
			}
			if _, err := (testadapter.Mocha{}).Start(p, &testadapter.Request{Dir: t.TempDir()},
				nil); fault.CodeOf(err) != fault.Unsupported {
				t.Errorf("Mocha with Plug'n'Play: %v", err)
			}
		})
	}
}
