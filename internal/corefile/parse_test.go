package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
)

// made is a core as a test writes it.
type made struct {
	notes []byte
	loads []load
}

type load struct {
	at, memsz uint64
	data      []byte
	flags     uint32
}

func (m *made) note(typ uint32, name string, desc []byte) *made {
	le := binary.LittleEndian
	var h [12]byte
	le.PutUint32(h[:], uint32(len(name)+1))
	le.PutUint32(h[4:], uint32(len(desc)))
	le.PutUint32(h[8:], typ)
	pad := func(b []byte) []byte { return append(b, make([]byte, (4-len(b)%4)%4)...) }
	m.notes = append(m.notes, h[:]...)
	m.notes = append(m.notes, pad(append([]byte(name), 0))...)
	m.notes = append(m.notes, pad(bytes.Clone(desc))...)
	return m
}

func (m *made) thread(tid, signal int, rip, rsp uint64) *made {
	b := make([]byte, statusSize)
	le := binary.LittleEndian
	le.PutUint16(b[12:], uint16(signal))
	le.PutUint32(b[32:], uint32(tid))
	le.PutUint64(b[statusRegs+8*15:], 1<<64-1)
	le.PutUint64(b[statusRegs+8*16:], rip)
	le.PutUint64(b[statusRegs+8*19:], rsp)
	return m.note(noteStatus, "CORE", b)
}

func (m *made) files(files ...file) *made {
	le := binary.LittleEndian
	b := le.AppendUint64(le.AppendUint64(nil, uint64(len(files))), pageBytes)
	for _, f := range files {
		b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, f.lo), f.hi), f.off/pageBytes)
	}
	for _, f := range files {
		b = append(append(b, f.path...), 0)
	}
	return m.note(noteFiles, "CORE", b)
}

func (m *made) bytes() []byte {
	le := binary.LittleEndian
	n := 1 + len(m.loads)
	h := make([]byte, 64+56*n)
	copy(h, elf.ELFMAG)
	h[4], h[5], h[6] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	le.PutUint16(h[16:], uint16(elf.ET_CORE))
	le.PutUint16(h[18:], uint16(elf.EM_X86_64))
	le.PutUint64(h[32:], 64)
	le.PutUint16(h[54:], 56)
	le.PutUint16(h[56:], uint16(n))
	at := uint64(len(h))
	put := func(i int, typ elf.ProgType, flags uint32, vaddr, filesz, memsz uint64) {
		p := h[64+56*i:]
		le.PutUint32(p, uint32(typ))
		le.PutUint32(p[4:], flags)
		le.PutUint64(p[8:], at)
		le.PutUint64(p[16:], vaddr)
		le.PutUint64(p[32:], filesz)
		le.PutUint64(p[40:], memsz)
		at += filesz
	}
	put(0, elf.PT_NOTE, 0, 0, uint64(len(m.notes)), 0)
	for i, l := range m.loads {
		put(i+1, elf.PT_LOAD, l.flags, l.at, uint64(len(l.data)), max(l.memsz, uint64(len(l.data))))
	}
	out := append(h, m.notes...)
	for _, l := range m.loads {
		out = append(out, l.data...)
	}
	return out
}

func parsed(t *testing.T, b []byte) *core {
	t.Helper()
	c, err := parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func small() *made {
	m := &made{loads: []load{{at: 0x1000, data: bytes.Repeat([]byte{7}, 100), memsz: 4096, flags: 4},
		{at: 0x8000, data: bytes.Repeat([]byte{9}, 4096), flags: 6}}}
	return m.thread(12, 11, 0x1010, 0x8100).thread(13, 11, 0x1020,
		0x8200).files(file{lo: 0x1000, hi: 0x3000, off: 0x2000, path: "/lib/x.so"})
}

func TestParse(t *testing.T) {
	c := parsed(t, small().bytes())
	if len(c.threads) != 2 || c.threads[0].tid != 12 || c.threads[0].signal != 11 || c.threads[1].tid != 13 {
		t.Errorf("threads = %+v", c.threads)
	}
	if pc, _ := c.threads[1].regs.Get(regPC); pc != 0x1020 {
		t.Errorf("rip = %#x", pc)
	}
	if len(c.files) != 1 || c.files[0] != (file{0x1000, 0x3000, 0x2000, "/lib/x.so"}) {
		t.Errorf("files = %+v", c.files)
	}
	b := make([]byte, 100)
	if err := c.Read(0x1000, b); err != nil || b[99] != 7 {
		t.Errorf("Read = %v, %v", b, err)
	}
	if c.Read(0x1000, make([]byte, 101)) == nil || c.Read(0x7fff, b) == nil || c.Read(1<<64-50, b) == nil {
		t.Error("memory that is not in the core can be read")
	}
}

// A core that was cut off keeps what is there, says what is not, and does not take the rest from elsewhere.
func TestCutOff(t *testing.T) {
	b := small().bytes()
	c := parsed(t, b[:len(b)-1000])
	if c.lacking != 1000 {
		t.Errorf("lacking = %d, want 1000", c.lacking)
	}
	s := c.segmentAt(0x8000)
	if s == nil || s.filesz != 3096 || s.whole != 4096 {
		t.Errorf("segment = %+v", s)
	}
	if c.Read(0x8000, make([]byte, 3096)) != nil || c.Read(0x8000+3096, make([]byte, 1)) == nil {
		t.Error("the wrong part of the segment is there")
	}
}

func TestNotACore(t *testing.T) {
	good := small().bytes()
	with := func(off int, v byte) []byte {
		b := bytes.Clone(good)
		b[off] = v
		return b
	}
	huge := bytes.Clone(good)
	binary.LittleEndian.PutUint16(huge[56:], 0xfffe)
	countless := bytes.Clone(good)
	binary.LittleEndian.PutUint16(countless[56:], 0xffff)
	binary.LittleEndian.PutUint64(countless[40:], 1<<40)
	for name, tc := range map[string]struct {
		in   []byte
		code fault.Code
		says string
	}{
		"empty":      {nil, fault.LaunchFailed, "0 bytes"},
		"text":       {[]byte(strings.Repeat("not a core\n", 20)), fault.LaunchFailed, "no ELF file"},
		"32-bit":     {with(4, 1), fault.Unsupported, "x86-64"},
		"arm":        {with(18, 183), fault.Unsupported, "EM_AARCH64"},
		"program":    {with(16, 2), fault.ValidationError, "ET_EXEC"},
		"many":       {huge, fault.LaunchFailed, "65534 segments"},
		"countless":  {countless, fault.LaunchFailed, "segments"},
		"no threads": {(&made{}).bytes(), fault.LaunchFailed, "no thread"},
		"cut off":    {good[:64+3*56], fault.LaunchFailed, "cut off behind 232 bytes"},
	} {
		_, err := parse(bytes.NewReader(tc.in), int64(len(tc.in)))
		if fault.CodeOf(err) != tc.code || err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %s with %q", name, err, tc.code, tc.says)
		}
	}
}

func TestDamagedNotes(t *testing.T) {
	le := binary.LittleEndian
	m := (&made{}).thread(5, 6, 1, 2)
	m.note(noteFiles, "CORE", le.AppendUint64(le.AppendUint64(nil, 1<<40), 4096))
	m.note(noteStatus, "CORE", []byte("short"))
	m.note(noteAuxv, "CORE", le.AppendUint64(le.AppendUint64(nil, atEntry), 77))
	m.note(99, "CORE", nil).note(noteStatus, "SOMEBODY", make([]byte, statusSize))
	at := len(m.notes)
	m.note(1, "CORE", nil)
	le.PutUint32(m.notes[at+4:], 1<<31) // longer than the segment
	c := parsed(t, m.bytes())
	if len(c.threads) != 1 || c.auxv[atEntry] != 77 || len(c.files) != 0 || len(c.problems) != 2 {
		t.Errorf("core = %d threads, auxv %v, problems %q", len(c.threads), c.auxv, c.problems)
	}
}

// FuzzCore: whatever a core holds, nothing panics or grows, and what was parsed can be walked.
func FuzzCore(f *testing.F) {
	b := small().bytes()
	f.Add(b)
	f.Add(b[:200])
	f.Add((&made{}).thread(1, 6, 0, 0).bytes())
	m := small()
	m.note(noteSiginfo, "CORE", make([]byte, siginfoSize)).note(noteProcess, "CORE",
		make([]byte, processSize)).note(noteVectors, "CORE", make([]byte, vectorsSize))
	f.Add(m.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parse(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		x := &Core{core: c, file: nil}
		for _, im := range c.images() {
			if base, ok := im.base(); ok {
				c.identify(base)
			}
			im.hi()
		}
		x.maps()
		x.program()
		x.proc = x.process("")
		c.death()
		buf := make([]byte, 64)
		for i := range c.segments {
			c.Read(c.segments[i].hi-8, buf)
		}
	})
}
