package wayland

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
)

// Sway tells of windows what Wayland does not: where they are, and whose. Safe for concurrent use.
type Sway struct{ path string }

// Window is one of a program, as sway knows it.
type Window struct {
	ID      int64
	PID     int
	Title   string
	X11     bool // by Xwayland
	Focused bool
	Shown   bool
	Content Rect // what the program paints of it, without sway's frame
}

// Sway finds the socket of the compositor where it is sway; nil: it is another one.
func (c *Conn) Sway() *Sway {
	found, err := filepath.Glob(filepath.Join(c.dir, fmt.Sprintf("sway-ipc.*.%d.sock", c.PID)))
	if err != nil || len(found) == 0 || c.PID == 0 {
		return nil
	}
	return &Sway{found[0]}
}

const (
	swayMagic = "i3-ipc"
	swayRun   = 0
	swayTree  = 4
	swayMax   = 64 << 20 // of an answer
)

func (s *Sway) ask(ctx context.Context, kind uint32, what string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", s.path)
	if err != nil {
		return fmt.Errorf("ask sway: %w", err)
	}
	defer c.Close() //nolint:errcheck // its answer is what counts
	end, _ := ctx.Deadline()
	b := binary.NativeEndian.AppendUint32([]byte(swayMagic), uint32(len(what)))
	b = append(binary.NativeEndian.AppendUint32(b, kind), what...)
	if err = c.SetDeadline(end); err == nil {
		_, err = c.Write(b)
	}
	if err != nil {
		return fmt.Errorf("ask sway: %w", err)
	}
	head := make([]byte, len(swayMagic)+8)
	if _, err := io.ReadFull(c, head); err != nil {
		return fmt.Errorf("ask sway: %w", err)
	}
	n := binary.NativeEndian.Uint32(head[len(swayMagic):])
	if string(head[:len(swayMagic)]) != swayMagic || n > swayMax {
		return errors.New("ask sway: its answer is damaged")
	}
	if err := json.NewDecoder(io.LimitReader(c, int64(n))).Decode(into); err != nil {
		return fmt.Errorf("ask sway: %w", err)
	}
	return nil
}

type swayRect struct{ X, Y, Width, Height int }

func (r swayRect) rect() Rect { return Rect{r.X, r.Y, r.Width, r.Height} }

// swayNode is what is read of sway's tree: outputs, workspaces, boxes and windows.
type swayNode struct {
	ID       int64
	Name     string
	PID      int
	Shell    string
	Focused  bool
	Visible  bool
	Rect     swayRect
	Window   swayRect `json:"window_rect"`
	Nodes    []swayNode
	Floating []swayNode `json:"floating_nodes"`
}

// Windows lists those of some processes.
func (s *Sway) Windows(ctx context.Context, pids []int) (out []Window, err error) {
	var root swayNode
	if err := s.ask(ctx, swayTree, "", &root); err != nil {
		return nil, err
	}
	var walk func(n *swayNode)
	walk = func(n *swayNode) {
		if n.PID != 0 && slices.Contains(pids, n.PID) {
			w := Window{ID: n.ID, PID: n.PID, Title: n.Name, X11: n.Shell == "xwayland", Focused: n.Focused, Shown: n.Visible,
				Content: n.Window.rect()}
			w.Content.X, w.Content.Y = w.Content.X+n.Rect.X, w.Content.Y+n.Rect.Y
			out = append(out, w)
		}
		for i := range n.Nodes {
			walk(&n.Nodes[i])
		}
		for i := range n.Floating {
			walk(&n.Floating[i])
		}
	}
	walk(&root)
	return out, nil
}

// Focus gives a window the keyboard, and shows it.
func (s *Sway) Focus(ctx context.Context, w Window) error {
	var said []struct {
		Success bool
		Error   string
	}
	if err := s.ask(ctx, swayRun, fmt.Sprintf("[con_id=%d] focus", w.ID), &said); err != nil {
		return err
	}
	for _, one := range said {
		if !one.Success {
			return fmt.Errorf("sway does not show the window: %s", one.Error)
		}
	}
	return nil
}
