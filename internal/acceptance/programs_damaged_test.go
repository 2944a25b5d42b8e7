//go:build linux

package acceptance

import (
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// damages is how many damaged files of each kind are tried: a second's worth, and ten times as many in a soak.
func damages(t *testing.T) int {
	if strobetest.Soaks(t, "9 of 10 damaged files") {
		return 200
	}
	return 20
}

// launchable are the codes that a file which is no good may get.
var launchable = map[string]bool{"LAUNCH_FAILED": true, "UNSUPPORTED": true, "PERMISSION_DENIED": true}

// Whatever is wrong with a program's debug information, the program runs as it does alone.
func TestDamagedDebugInfo(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, variant := range []string{"gcc-O0", "gcc-O2-dwarf4"} {
		good := strobetest.Build(t, "ending", variant)
		data, err := os.ReadFile(good)
		if err != nil {
			t.Fatal(err)
		}
		ranges := debugRanges(t, good)
		random := rand.New(rand.NewPCG(1, uint64(len(data))))
		dir := t.TempDir()
		pid := 0
		for i := range damages(t) {
			bad := append([]byte{}, data...)
			damage(random, bad, ranges)
			path := write(t, dir, fmt.Sprintf("debug%d", i), string(bad), 0o755)
			l := s.Launch(t, path, strobetest.TargetsDir(t), []string{"exit", "9"},
				args{"trace": []string{"end", "@usercode", "@file:ending"}})
			if pid == 0 {
				pid = daemon.HolderPID(s.Home)
			}
			st := s.WaitEnd(t, l.SessionID, endLimit)
			if out := s.Output(t, l.SessionID, "stdout"); out != "before the end\n" || st.ExitCode == nil || *st.ExitCode != 9 {
				keep(t, path)
				t.Errorf("%s, damage %d: wrote %q and ended as %+v", variant, i, out, st)
			}
			s.Query(t, l.SessionID, args{"view": "tree"})
			s.Stop(t, l.SessionID)
		}
		serves(t, s, pid)
	}
}

// Any byte of a program may be wrong, and any part of it missing: it may not start, or crash, or run for ever, but
// the answer has a code of its own and the daemon lives.
func TestDamagedPrograms(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	pid := 0
	for _, variant := range []string{"gcc-O0", "gcc-O2-static"} {
		good := strobetest.Build(t, "ending", variant)
		data, err := os.ReadFile(good)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(2, uint64(len(data))))
		dir := t.TempDir()
		codes := map[string]int{}
		for i := range damages(t) {
			bad := append([]byte{}, data...)
			switch i % 4 {
			case 0:
				bad = bad[:random.IntN(len(bad))]
			case 1: // the headers, where a byte matters most
				damage(random, bad, [][2]int{{0, 64 + 14*56}})
			case 2: // the section headers, at the end
				damage(random, bad, [][2]int{{len(bad) - 40*64, len(bad)}})
			default:
				damage(random, bad, [][2]int{{0, len(bad)}})
			}
			path := write(t, dir, fmt.Sprintf("bad%d", i), string(bad), 0o755)
			code := tryDamaged(t, s, path, dir)
			codes[code]++
			if pid == 0 {
				pid = daemon.HolderPID(s.Home)
			}
			if daemon.HolderPID(s.Home) != pid {
				keep(t, path)
				t.Fatalf("%s, damage %d: the daemon died", variant, i)
			}
		}
		t.Logf("%s: %v", variant, codes)
		serves(t, s, pid)
	}
}

// tryDamaged launches and stops a file of which nothing is known, and returns what came of it.
func tryDamaged(t *testing.T, s *strobetest.Strobe, path, dir string) string {
	t.Helper()
	var l strobetest.Launched
	err := s.Try("debug_launch", args{"command": path, "projectRoot": dir, "args": []string{"exit", "9"},
		"trace": []string{"end", "@file:ending"}}, &l)
	if err == nil {
		s.Status(t, l.SessionID)
		s.Stop(t, l.SessionID)
		return "launched"
	}
	var f *strobetest.ToolError
	if !errors.As(err, &f) || !launchable[f.Code] || len(f.Hint) < hintMin {
		keep(t, path)
		t.Errorf("launch of %s: %v", path, err)
		return "?"
	}
	return f.Code
}

// keep saves a file that showed a bug.
func keep(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	to := filepath.Join(os.TempDir(), "strobe-damaged-"+strings.ReplaceAll(t.Name(), "/", "-")+"-"+filepath.Base(path))
	if os.WriteFile(to, data, 0o755) == nil {
		t.Logf("the file is kept as %s", to)
	}
}

// damage changes up to 64 places in the ranges.
func damage(random *rand.Rand, data []byte, ranges [][2]int) {
	for range 1 + random.IntN(64) {
		r := ranges[random.IntN(len(ranges))]
		if r[0] = max(r[0], 0); r[1] > len(data) {
			r[1] = len(data)
		}
		at := r[0] + random.IntN(r[1]-r[0])
		switch random.IntN(4) {
		case 0:
			data[at] ^= 1 << random.IntN(8)
		case 1:
			data[at] = 0xff
		case 2:
			for i := at; i < min(at+8, r[1]); i++ {
				data[i] = byte(random.Uint32())
			}
		default:
			data[at] = 0
		}
	}
}

// debugRanges returns where the parts of a file stand that only debuggers read.
func debugRanges(t *testing.T, path string) (ranges [][2]int) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, sec := range f.Sections {
		if strings.HasPrefix(sec.Name, ".debug_") || sec.Name == ".symtab" || sec.Name == ".strtab" ||
			sec.Name == ".comment" {
			ranges = append(ranges, [2]int{int(sec.Offset), int(sec.Offset + sec.FileSize)})
		}
	}
	if len(ranges) < 6 {
		t.Fatalf("%s has only %d sections for debuggers", path, len(ranges))
	}
	return ranges
}
