package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/ptrace"
)

// begins tells of an image that is about to run, and lays what the answer names into its environment. The environment
// that the program was given, which its children would inherit and /proc shows, stays as it is. Tracer thread only.
func (t *target) begins(pid, tid int) {
	if t.cmd.Starting == nil {
		return
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return
	}
	if collector.Drives(t.cmd.Drivers, path, pid) {
		return
	}
	img := collector.Image{PID: pid, Path: path, Args: zeroSeparated(pid, "cmdline"),
		Env: func() []string { return zeroSeparated(pid, "environ") }}
	add := t.cmd.Starting(img)
	if len(add.Env)+len(add.Args) == 0 {
		return
	}
	if err := addBeside(pid, tid, add); err != nil {
		t.log.Warn("an interpreter's start cannot be changed: its functions are not traced", "pid", pid, "program", path,
			"err", err)
	}
}

func zeroSeparated(pid int, file string) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(b, []byte{0})), "\x00")
}

// maxVectors bounds what is moved of a program's arguments and environment: pointers, not texts. The kernel gives a new
// stack 128 KB below what it has put there.
const maxVectors = 96 << 10

// code64 is the code segment of 64-bit programs.
const code64 = 0x33

var errStart = errors.New("the process does not stand at the beginning of a program")

// addBeside gives a process that stands before its first instruction variables, NAME=value in the place of a NAME that
// it has, else behind the others, and arguments behind its name. The words that the stack begins with (argc, argv,
// envp, auxv) are written anew below, behind the new texts.
func addBeside(pid, tid int, add collector.Beside) error {
	regs, err := ptrace.GetRegs(tid)
	if err != nil {
		return err
	}
	if regs.Cs != code64 {
		return errors.New("it is a 32-bit program")
	}
	mem, err := ptrace.OpenMem(pid)
	if err != nil {
		return err
	}
	defer mem.Close()
	v, err := readVectors(mem, regs.Rsp)
	if err != nil {
		return err
	}
	var texts []byte
	size := uint64(0)
	for _, s := range slices.Concat(add.Env, add.Args) {
		size += uint64(len(s)) + 1
	}
	at := (regs.Rsp - size) &^ 15
	lay := func(s string) uint64 {
		addr := at + uint64(len(texts))
		texts = append(append(texts, s...), 0)
		return addr
	}
	for i, s := range add.Args {
		v.args = slices.Insert(v.args, min(1+i, len(v.args)), lay(s))
	}
	for _, s := range add.Env {
		addr := lay(s)
		name, _, _ := strings.Cut(s, "=")
		if i := v.find(mem, name+"="); i >= 0 {
			v.env[i] = addr
		} else {
			v.env = append(v.env, addr)
		}
	}
	words := v.words()
	sp := (at - 8*uint64(len(words))) &^ 15
	block := make([]byte, 8*len(words))
	for i, w := range words {
		binary.LittleEndian.PutUint64(block[8*i:], w)
	}
	if regs.Rsp-sp > maxVectors {
		return fmt.Errorf("arguments and environment have %d pointers, too many to move", len(words))
	}
	if err := mem.Write(at, texts); err != nil {
		return err
	}
	if err := mem.Write(sp, block); err != nil {
		return err
	}
	regs.Rsp = sp
	return ptrace.SetRegs(tid, &regs)
}

// vectors are what a program's stack begins with.
type vectors struct {
	args, env []uint64 // addresses of texts
	aux       []uint64 // pairs, with the last
}

func readVectors(mem *ptrace.Mem, sp uint64) (v vectors, err error) {
	at := sp
	word := func() uint64 {
		var b [8]byte
		if err == nil {
			err = mem.Read(at, b[:])
		}
		at += 8
		return binary.LittleEndian.Uint64(b[:])
	}
	n := word()
	if err != nil || n > maxVectors/8 {
		return v, errors.Join(err, errStart)
	}
	for range n {
		v.args = append(v.args, word())
	}
	if word() != 0 || err != nil {
		return v, errors.Join(err, errStart)
	}
	for w := word(); w != 0; w = word() {
		if v.env = append(v.env, w); err != nil || len(v.env) > maxVectors/8 {
			return v, errors.Join(err, errStart)
		}
	}
	for {
		tag, value := word(), word()
		if v.aux = append(v.aux, tag, value); err != nil || len(v.aux) > 256 {
			return v, errors.Join(err, errStart)
		}
		if tag == 0 {
			return v, nil
		}
	}
}

// find returns which of the variables begins with prefix, -1 for none.
func (v *vectors) find(mem *ptrace.Mem, prefix string) int {
	b := make([]byte, len(prefix))
	for i, addr := range v.env {
		if mem.Read(addr, b) == nil && string(b) == prefix {
			return i
		}
	}
	return -1
}

func (v *vectors) words() []uint64 {
	w := append([]uint64{uint64(len(v.args))}, v.args...)
	w = append(append(w, 0), v.env...)
	return append(append(w, 0), v.aux...)
}
