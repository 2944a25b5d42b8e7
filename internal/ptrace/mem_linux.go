package ptrace

import (
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Mem is a process's memory. It needs no stop and works from any goroutine. Close it.
type Mem struct {
	pid  int
	file *os.File // /proc/PID/mem: writes also where the process itself may not
	mask atomic.Pointer[Mask]
}

// OpenMem opens the memory of a traced process. It stays that of the program image of now: open it again after exec.
func OpenMem(pid int) (*Mem, error) {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open memory of process %d: %w", pid, err)
	}
	return &Mem{pid: pid, file: f}, nil
}

// Read fills b from addr, or fails.
func (m *Mem) Read(addr uint64, b []byte) error {
	err := m.read(addr, b)
	if err == nil {
		m.unmask(addr, b)
	}
	return err
}

func (m *Mem) read(addr uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(m.pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
	if err == nil && n == len(b) {
		return nil
	}
	// Pages without read permission, or no process_vm_readv in this sandbox.
	if _, err := m.file.ReadAt(b, int64(addr)); err != nil {
		return fmt.Errorf("read %d bytes at 0x%x of process %d: %w", len(b), addr, m.pid, err)
	}
	return nil
}

// Write stores b at addr, also into read-only text.
func (m *Mem) Write(addr uint64, b []byte) error {
	m.overwritten(addr, len(b))
	return m.write(addr, b)
}

func (m *Mem) write(addr uint64, b []byte) error {
	if _, err := m.file.WriteAt(b, int64(addr)); err != nil {
		return fmt.Errorf("write %d bytes at 0x%x of process %d: %w", len(b), addr, m.pid, err)
	}
	return nil
}

// ReadMany fills b with size bytes from each of the addresses, of which the kernel takes a thousand at once.
func (m *Mem) ReadMany(at []uint64, size int, b []byte) error {
	const most = 1024
	for len(at) > 0 {
		k := min(len(at), most)
		remote := make([]unix.RemoteIovec, k)
		for i := range remote {
			remote[i] = unix.RemoteIovec{Base: uintptr(at[i]), Len: size}
		}
		local := unix.Iovec{Base: &b[0]}
		local.SetLen(k * size)
		n, err := unix.ProcessVMReadv(m.pid, []unix.Iovec{local}, remote, 0)
		if err != nil || n < k*size { // some are not mapped, or it is forbidden: by the file, which may
			for i, a := range at[:k] {
				if err := m.Read(a, b[i*size:(i+1)*size]); err != nil {
					return err
				}
			}
		}
		for i, a := range at[:k] {
			m.unmask(a, b[i*size:(i+1)*size])
		}
		at, b = at[k:], b[k*size:]
	}
	return nil
}

// Close releases the file.
func (m *Mem) Close() error { return m.file.Close() }
