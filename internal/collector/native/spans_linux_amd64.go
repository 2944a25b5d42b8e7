package native

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// A process of which all functions are hooked has hundreds of sites in a few dozen pages: they are
// looked up by their order, and read and written by the page and not one by one, since a system call
// costs as much as a page.

// windows are sites in the order of their addresses.
type windows []*site

func windowsOf(sites []*site) windows {
	ws := slices.Clone(sites)
	sorting.By(ws, func(a, b *site) int { return cmp.Compare(a.addr, b.addr) })
	return ws
}

// find returns the site whose patch lies over an address, but for its first byte; nil: none.
func (ws windows) find(at uint64) *site {
	i, _ := slices.BinarySearchFunc(ws, at, func(s *site, at uint64) int { return cmp.Compare(s.addr, at) })
	for i--; i >= 0 && ws[i].addr+jumpBytes > at; i-- {
		if s := ws[i]; at < s.addr+uint64(len(s.patch)) {
			return s
		}
	}
	return nil
}

// maxSpan bounds what is read or written at once, in bytes.
const maxSpan = 1 << 20

// spans divides the sites where there is a page without any between two.
func (ws windows) spans() (all []windows) {
	from := 0
	for i := 1; i <= len(ws); i++ {
		if i < len(ws) {
			last := (ws[i-1].addr + uint64(len(ws[i-1].patch)) - 1) / pageBytes
			if ws[i].addr/pageBytes <= last+1 && ws[i].addr-ws[from].addr < maxSpan {
				continue
			}
		}
		all = append(all, ws[from:i])
		from = i
	}
	return all
}

// bytesOf reads what there is from the first site to the last one's end.
func (p *process) bytesOf(span windows) ([]byte, error) {
	hi := uint64(0)
	for _, s := range span {
		hi = max(hi, s.addr+uint64(len(s.patch)))
	}
	b := make([]byte, hi-span[0].addr)
	return b, p.mem.Read(span[0].addr, b)
}

// readSites reads what stands where sites are to be patched.
func (p *process) readSites(ws windows) error {
	for _, span := range ws.spans() {
		b, err := p.bytesOf(span)
		for _, s := range span {
			if err == nil {
				copy(s.orig, b[s.addr-span[0].addr:])
			} else if err := p.mem.Read(s.addr, s.orig); err != nil { // what lies between need not be there
				return err
			}
			if _, ours := p.trapAt(s.addr); s.orig[0] == int3 && len(s.patch) == 1 && !ours {
				return fmt.Errorf("patch 0x%x: a breakpoint of somebody else stands there", s.addr)
			}
		}
	}
	return nil
}

// patchQuiet writes the patches into a process in which nothing can run: with them, what stands
// between them as it is.
func (p *process) patchQuiet(ws windows) error {
	for _, span := range ws.spans() {
		b, err := p.bytesOf(span)
		for _, s := range span {
			if err == nil {
				copy(b[s.addr-span[0].addr:], s.patch)
			} else if err := p.mem.Write(s.addr, s.patch); err != nil {
				return err
			}
		}
		if err == nil {
			err = p.mem.Write(span[0].addr, b)
			if err != nil {
				return err
			}
		}
		for _, s := range span {
			s.active = true
		}
	}
	return nil
}
