package session

// dies is collector.DeathWatcher's Dying: what was reported may be why.
func (c *crashes) dies(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dying == nil {
		c.dying = map[int]bool{}
	}
	c.dying[pid] = true
}

// awaitedLocked reports whether a report's process is about to end: it is told with that.
func (c *crashes) awaitedLocked(pid int) bool {
	return c.dying[pid] || len(c.dying) > 0 && !c.known(pid)
}
