package native

import (
	"bytes"
	"maps"
	"slices"
)

// replaceSites writes sites of add over those of remove with the same address and window, and returns the others. At no
// moment the original instructions stand there: whoever comes meets the old patch, an int3, or the new one.
func (p *process) replaceSites(add, remove []*site) (restAdd, restRemove []*site, err error) {
	old := map[uint64]*site{}
	for _, s := range remove {
		if p.alone(s) {
			old[s.addr] = s
		}
	}
	var was, now []*site
	for _, s := range add {
		if o := old[s.addr]; o != nil && p.sameWindow(o, s) {
			was, now = append(was, o), append(now, s)
		} else {
			restAdd = append(restAdd, s)
		}
	}
	if len(now) == 0 {
		return add, remove, nil
	}
	restRemove = slices.DeleteFunc(slices.Clone(remove), func(s *site) bool { return slices.Contains(was, s) })
	p.setTraps(now, was)
	for i, s := range now {
		s.orig = bytes.Clone(was[i].orig)
		if err := p.mem.Write(s.addr, []byte{int3}); err != nil {
			return nil, nil, err
		}
	}
	defer p.haltRunning()()
	p.passCopies(now)
	for _, s := range was {
		s.active = false
	}
	return restAdd, restRemove, p.patch(now)
}

// sameWindow reports that one patch can be written over another: it stands as it was written, and whatever one of them
// displaces the other does, too.
func (p *process) sameWindow(old, s *site) bool {
	if !old.active || old.entry != 0 || s.entry != 0 || len(old.patch) != len(s.patch) ||
		old.golang != nil || s.golang != nil {
		return false
	}
	same := maps.EqualFunc(old.moves, s.moves, func(_, _ uint64) bool { return true })
	have := make([]byte, len(old.patch))
	return same && p.mem.Read(old.addr, have) == nil && bytes.Equal(have, old.patch)
}

// alone reports that a site stands on no other one, and none on it.
func (p *process) alone(s *site) bool {
	p.trapMu.RLock()
	defer p.trapMu.RUnlock()
	t := p.traps[s.addr]
	return t != nil && t.is(s) && t.below == nil
}
