package wayland

import "slices"

// toplevel is a window as zwlr_foreign_toplevel_manager_v1 lists it: neither its place nor its process is told.
type toplevel struct {
	id    object
	title string
}

func (c *Conn) onWindows(m *message) {
	if m.op != 0 {
		return
	}
	t := &toplevel{id: object(m.body.uint())}
	c.tops = append(c.tops, t)
	c.on[t.id] = func(m *message) {
		switch m.op {
		case 0:
			t.title = m.body.string()
		case 6:
			c.tops = slices.DeleteFunc(c.tops, func(o *toplevel) bool { return o == t })
			delete(c.on, t.id)
		}
	}
}

// Activate gives the window of a title the keyboard, where there is one of that title alone.
func (c *Conn) Activate(title string) error {
	if c.windows == 0 {
		return &ErrLacks{ifaceWindows}
	}
	var found []object
	c.mu.Lock()
	for _, t := range c.tops {
		if t.title == title {
			found = append(found, t.id)
		}
	}
	c.mu.Unlock()
	if len(found) != 1 {
		return &ErrLacks{"single window of the title " + title}
	}
	if err := c.send(request(found[0], 4, c.seat)); err != nil {
		return err
	}
	return c.wait()
}
