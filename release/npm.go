package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// npmScope and what is below it are the names of the npm packages: one that is run, and one for each platform, of which
// npm installs the one that fits.
const npmScope = "@strobe-debug/"

// npmCPU is what npm calls an architecture.
var npmCPU = map[string]string{"amd64": "x64", "arm64": "arm64"}

// npmRun is the program that npx runs: it becomes the platform's binary as far as Node can, with its files, its
// signals and its end.
const npmRun = `#!/usr/bin/env node
"use strict";
const { spawn } = require("node:child_process");
const name = ` + "`" + npmScope + "strobe-${process.platform}-${process.arch}`" + `;
let binary;
try {
  binary = require.resolve(name + "/bin/strobe");
} catch {
  console.error("strobe: there is no build for " + process.platform + "-" + process.arch + " (package " + name +
    "): Strobe runs on Linux, x64 and arm64. Where npm left out optional packages, install without --omit=optional.");
  process.exit(2);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signal, () => child.kill(signal));
child.on("error", (e) => {
  console.error("strobe: " + e.message);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
`

// manifest is a package.json.
type manifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	Repository  map[string]string `json:"repository"`
	Bin         map[string]string `json:"bin,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
	Files       []string          `json:"files"`
}

func (r *release) manifest(name, about string) manifest {
	return manifest{Name: npmScope + name, Version: r.version, Description: about, License: "MIT", Files: []string{"bin"},
		Repository: map[string]string{"type": "git", "url": "git+https://github.com/strobe-debug/strobe.git"}}
}

func npmPlatform(arch string) string { return "strobe-linux-" + npmCPU[arch] }

func (r *release) npmBinary(arch string, binary []byte) error {
	m := r.manifest(npmPlatform(arch), "Strobe's binary for Linux on "+npmCPU[arch])
	m.OS, m.CPU = []string{"linux"}, []string{npmCPU[arch]}
	return r.npm(npmPlatform(arch), m, file{"bin/strobe", 0o755, binary})
}

func (r *release) npmWrapper() error {
	m := r.manifest("strobe", "See what a program does, call by call: a command, and an MCP server for coding agents")
	m.Bin, m.Engines = map[string]string{"strobe": "bin/strobe.js"}, map[string]string{"node": ">=16"}
	m.Optional = map[string]string{}
	for _, arch := range r.arches {
		m.Optional[npmScope+npmPlatform(arch)] = r.version
	}
	return r.npm("strobe", m, file{"bin/strobe.js", 0o755, []byte(npmRun)})
}

// npm packs a package as npm pack does: below package/, in a tarball that is called after it.
func (r *release) npm(name string, m manifest, program file) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	files := []file{{"package.json", 0o644, append(data, '\n')}, program}
	for _, doc := range []string{"LICENSE", "README.md"} {
		text, err := os.ReadFile(filepath.Join(r.root, doc))
		if err != nil {
			return err
		}
		files = append(files, file{doc, 0o644, text})
	}
	packed, err := r.tarball("package/", files)
	if err != nil {
		return err
	}
	return r.write("npm-"+name+"-"+r.version+".tgz", packed)
}
