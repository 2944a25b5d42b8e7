package jvm

import (
	"archive/zip"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/agentlink"
)

// mostManifest bounds what is read of a jar's manifest: signed ones have a line for each class.
const mostManifest = 64 << 10

// valued are the launcher's options whose value is an argument of its own.
var valued = []string{"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path",
	"--add-modules", "--limit-modules", "--add-exports", "--add-opens", "--add-reads", "--patch-module",
	"--enable-native-access", "--source"}

// ownPackage is the package, with slashes, in which a program's own code lies as far as its main class tells: that of
// the class, or the one around it where two parts are left then: org.h2.tools is a part of org.h2. False: the main
// class is not known.
func ownPackage(h *agentlink.Hello) (string, bool) {
	main := mainClass(h)
	if main == "" {
		return "", false
	}
	parts := strings.Split(strings.ReplaceAll(main, ".", "/"), "/")
	parts = parts[:len(parts)-1]
	if len(parts) > 2 {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, "/"), true
}

// mainClass is the class that a launcher was asked to run; "" where it was asked for none by name.
func mainClass(h *agentlink.Hello) string {
	if h == nil {
		return ""
	}
	for i := 1; i < len(h.Argv); i++ {
		arg := h.Argv[i]
		switch {
		case arg == "-jar" && i+1 < len(h.Argv):
			return mainOf(h.PID, h.Argv[i+1])
		case (arg == "-m" || arg == "--module") && i+1 < len(h.Argv):
			_, class, _ := strings.Cut(h.Argv[i+1], "/")
			return class
		case slices.Contains(valued, arg):
			i++
		case strings.HasPrefix(arg, "@"): // a file of arguments
			return ""
		case !strings.HasPrefix(arg, "-"):
			if strings.HasSuffix(arg, ".java") {
				return ""
			}
			return arg
		}
	}
	return ""
}

// mainOf reads a jar's manifest as the process sees the file. Spring's jars start what the manifest names beside the
// class that finds the classes.
func mainOf(pid int, jar string) (class string) {
	in := "cwd"
	if filepath.IsAbs(jar) {
		in = "root"
	}
	z, err := zip.OpenReader(filepath.Join("/proc", strconv.Itoa(pid), in, jar))
	if err != nil {
		return ""
	}
	defer z.Close()
	f, err := z.Open("META-INF/MANIFEST.MF")
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostManifest))
	if err != nil {
		return ""
	}
	lines := strings.NewReplacer("\r\n ", "", "\n ", "").Replace(string(text)) // long ones go on behind a space
	for line := range strings.Lines(lines) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); key {
		case "Start-Class":
			return strings.TrimSpace(value)
		case "Main-Class":
			class = strings.TrimSpace(value)
		case "": // the part of the jar itself ends
			return class
		}
	}
	return class
}

// owns reports whether a package is the program's own by its main class.
func (p *process) owns(pkg string) bool {
	return p.named && (pkg == p.own || p.own != "" && strings.HasPrefix(pkg, p.own+"/"))
}
