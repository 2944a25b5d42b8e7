package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/switches"
	"golang.org/x/sys/unix"
)

// perfSource are perf's buffers of context switches, one of each CPU, for the threads that were followed and all that
// these make. An ordinary user may have them of his own processes while kernel.perf_event_paranoid is at most 2.
type perfSource struct {
	cpus   []*perfCPU
	lost   bool              // the kernel counts what it lost
	opened map[int32]bool    // threads that have events of their own
	born   map[int32]bool    // threads that others have made, whose events they have
	buf    []byte            // scratch
	first  []switches.Record // scratch
	second []switches.Record // scratch
}

type perfCPU struct {
	nr     int
	fds    []int // the first one has the buffer
	mem    []byte
	stream switches.Stream
	hung   bool // nobody who has the first event runs any more: it cannot be waited for
}

// perfPages are the sizes of a buffer that are tried, without the page of pointers. The kernel lets a user lock 516 KB
// for each CPU (kernel.perf_event_mlock_kb), beside what RLIMIT_MEMLOCK allows: two sessions have room at once for the
// first, and more for the others.
var perfPages = []int{64, 32, 16, 8}

// maxPerfFiles bounds the descriptors: a program that is attached to needs one for each thread and CPU.
const maxPerfFiles = 8192

var errPerfFiles = fmt.Errorf("more than %d descriptors would be needed", maxPerfFiles)

// openPerf opens buffers for threads. Nil and an error: the kernel does not allow it.
func openPerf(tids []int) (*perfSource, error) {
	s := &perfSource{lost: true, opened: map[int32]bool{}, born: map[int32]bool{}}
	list, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	for _, nr := range cpuList(string(list)) {
		s.cpus = append(s.cpus, &perfCPU{nr: nr})
	}
	for _, tid := range tids {
		if err := s.follow(tid); err != nil && !errors.Is(err, unix.ESRCH) {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// cpuList reads "0-3,5".
func cpuList(text string) (all []int) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		from, to, ranged := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		b := a
		if ranged && err == nil {
			b, err = strconv.Atoi(to)
		}
		if err != nil || b-a > 1<<16 {
			continue
		}
		for nr := a; nr <= b; nr++ {
			all = append(all, nr)
		}
	}
	return all
}

// follow opens events of one thread.
func (s *perfSource) follow(tid int) error {
	if s.opened[int32(tid)] || s.born[int32(tid)] {
		return nil
	}
	if (len(s.opened)+1)*len(s.cpus) > maxPerfFiles {
		return errPerfFiles
	}
	for _, c := range s.cpus {
		if err := s.open(c, tid); err != nil && !errors.Is(err, unix.ENODEV) { // a CPU that went away
			return fmt.Errorf("open perf's context switches of thread %d: %w", tid, err)
		}
	}
	s.opened[int32(tid)] = true
	return nil
}

func (s *perfSource) open(c *perfCPU, tid int) error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Size: perfAttrSize, Sample_type: switches.SampleType, Clockid: unix.CLOCK_MONOTONIC,
		Wakeup: uint32(perfPages[0] * unix.Getpagesize() / 4),
		Bits: unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | unix.PerfBitTask |
			unix.PerfBitWatermark | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitContextSwitch}
	if s.lost {
		attr.Read_format = unix.PERF_FORMAT_LOST
	}
	fd, err := unix.PerfEventOpen(&attr, tid, c.nr, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, unix.EINVAL) && s.lost { // before Linux 6.0
		s.lost, attr.Read_format = false, 0
		fd, err = unix.PerfEventOpen(&attr, tid, c.nr, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}
	if err != nil {
		return err
	}
	if len(c.fds) > 0 {
		err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, c.fds[0])
	} else {
		for _, pages := range perfPages {
			c.mem, err = unix.Mmap(fd, 0, (1+pages)*unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOMEM) {
				break
			}
		}
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	c.fds = append(c.fds, fd)
	return nil
}

// bytes is how large the smallest buffer is.
func (s *perfSource) bytes() int {
	n := perfPages[0] * unix.Getpagesize()
	for _, c := range s.cpus {
		if len(c.mem) > 0 {
			n = min(n, len(c.mem)-unix.Getpagesize())
		}
	}
	return n
}

// read takes what is in all buffers: what was there when they were first looked at, and what was when they were again.
func (s *perfSource) read() (first, second []switches.Record, err error) {
	s.first, s.second = s.first[:0], s.second[:0]
	for _, to := range []*[]switches.Record{&s.first, &s.second} {
		for _, c := range s.cpus {
			if len(c.mem) == 0 {
				continue
			}
			head, _ := perfWords(c.mem)
			s.buf = perfTake(c.mem, atomic.LoadUint64(head), s.buf[:0])
			if *to, err = c.stream.Decode(s.buf, *to); err != nil {
				return s.first, s.second, err
			}
		}
		for _, r := range *to {
			if r.What == switches.Born {
				s.born[r.TID] = true
			}
		}
	}
	return s.first, s.second, nil
}

// missing adds what the kernel lost and has no record of yet.
func (s *perfSource) missing(now int64, to []switches.Record) []switches.Record {
	if !s.lost {
		return to
	}
	for _, c := range s.cpus {
		var all uint64
		for _, fd := range c.fds {
			var b [16]byte // the count of events, and the lost ones
			if n, err := unix.Read(fd, b[:]); err == nil && n == len(b) {
				all += binary.LittleEndian.Uint64(b[8:])
			}
		}
		to = c.stream.Missing(all, now, to)
	}
	return to
}

// lostAll is how many records the kernel had no room for.
func (s *perfSource) lostAll() (n uint64) {
	for _, c := range s.cpus {
		n += c.stream.Lost
	}
	return n
}

// poll waits until a buffer is a quarter full, or somebody calls.
func (s *perfSource) poll(call int, ms int) {
	fds := []unix.PollFd{{Fd: int32(call), Events: unix.POLLIN}}
	for _, c := range s.cpus {
		switch {
		case c.hung:
			ms = min(ms, hungPoll)
		case len(c.fds) > 0:
			fds = append(fds, unix.PollFd{Fd: int32(c.fds[0]), Events: unix.POLLIN})
		}
	}
	if n, err := unix.Poll(fds, ms); err != nil || n == 0 {
		return
	}
	for _, f := range fds[1:] {
		if f.Revents&(unix.POLLHUP|unix.POLLERR) == 0 {
			continue
		}
		for _, c := range s.cpus {
			c.hung = c.hung || len(c.fds) > 0 && c.fds[0] == int(f.Fd)
		}
	}
}

// hungPoll is how often, in ms, buffers are looked at that cannot be waited for.
const hungPoll = 5

func (s *perfSource) close() {
	for _, c := range s.cpus {
		if len(c.mem) > 0 {
			unix.Munmap(c.mem) //nolint:errcheck // it is mapped
		}
		for _, fd := range c.fds {
			unix.Close(fd)
		}
	}
}
