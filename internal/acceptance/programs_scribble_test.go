package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// scribbles overwrites the memory that its calls are recorded in, and tries to make the file shorter that it is.
const scribbles = `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline, noclone)) long work(long i) { __asm__ volatile(""); return i * 3; }
int main(int argc, char **argv)
{
	unsigned long lo = 0, hi = 0, a, b;
	char line[512], path[128], *from, *to;
	long sum = 0, shortened = 0, seed = argc > 1 ? atol(argv[1]) : 1;
	for (long i = 0; i < 1000; i++) sum += work(i);
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "memfd:") && sscanf(line, "%lx-%lx", &a, &b) == 2) lo = lo ? lo : a, hi = b;
	fclose(maps);
	maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "memfd:") && sscanf(line, "%lx-%lx", &a, &b) == 2) {
			snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", a, b);
			int fd = open(path, O_RDWR);
			if (fd >= 0 && (ftruncate(fd, 4096) == 0 || ftruncate(fd, 1l << 40) == 0)) shortened++;
			if (fd >= 0) close(fd);
		}
	fclose(maps);
	srand48(seed);
	from = (char *)lo + RINGS, to = hi - lo > 64ul << 20 ? from + (64ul << 20) : (char *)hi;
	for (int round = 0; round < 30; round++) {
		if (seed == 1) memset(from, round & 1 ? 0xff : 0x41, 4096); // the first ring's head
		else for (int k = 0; k < 300; k++) *(uint64_t *)(from + (lrand48() % 512) * 8) = (uint64_t)mrand48() << (lrand48() % 40);
		if (seed == 3) madvise(from, (size_t)(to - from), MADV_REMOVE);
		for (long i = 0; i < 20000; i++) sum += work(i);
	}
	printf("%ld %ld\n", sum, shortened);
	return 5;
}
`

// TestScribbles has programs damage what they share with the daemon: they run on to their end, also where they wait for
// room, and the daemon lives.
func TestScribbles(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "scribbles",
		strings.Replace(scribbles, "RINGS", fmt.Sprint(ring.RingsOff), 1))
	for _, full := range []string{"drop", "block"} {
		for _, seed := range []string{"1", "2", "3"} {
			l := s.Launch(t, path, filepath.Dir(path), []string{seed},
				map[string]any{"trace": []any{"work"}, "onFullBuffer": full})
			st := s.WaitEnd(t, l.SessionID, time.Minute)
			if st.ExitCode == nil || *st.ExitCode != 5 {
				t.Errorf("%s %s: it ended as %+v", full, seed, st)
			}
			if out := s.Output(t, l.SessionID, "stdout"); out != "18000598500 0\n" {
				t.Errorf("%s %s: output %q", full, seed, out)
			}
			if st.DroppedEvents < 0 {
				t.Errorf("%s %s: %d dropped", full, seed, st.DroppedEvents)
			}
			text := strings.Join(st.Warnings, "\n")
			if strings.Contains(text, "LeakSanitizer") || seed != "3" && !strings.Contains(text, "wrote into the memory") {
				t.Errorf("%s %s: warnings %q", full, seed, st.Warnings)
			}
			s.Stop(t, l.SessionID)
		}
	}
}
