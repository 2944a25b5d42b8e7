package ui

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPNG: whatever the picture, another decoder reads what was written.
func TestPNG(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {3, 2}, {300, 200}, {257, 3}} {
		for kind := range 3 {
			m := image.NewRGBA(image.Rect(0, 0, size[0], size[1]))
			for y := range size[1] {
				for x := range size[0] {
					c := color.RGBA{A: 255}
					switch kind {
					case 1:
						c.R, c.G, c.B = uint8(rand.Int()), uint8(rand.Int()), uint8(rand.Int())
					case 2:
						c.R, c.G = uint8(x/40*90), uint8(y/30*70)
					}
					m.SetRGBA(x, y, c)
				}
			}
			b := EncodePNG(m)
			got, err := png.Decode(bytes.NewReader(b))
			if err != nil {
				t.Fatalf("%v kind %d: %v", size, kind, err)
			}
			for y := range size[1] {
				for x := range size[0] {
					if r, g, bl, _ := got.At(x, y).RGBA(); uint8(r) != m.RGBAAt(x, y).R || uint8(g) != m.RGBAAt(x, y).G ||
						uint8(bl) != m.RGBAAt(x, y).B {
						t.Fatalf("%v kind %d: point %d,%d is other", size, kind, x, y)
					}
				}
			}
			t.Logf("%v kind %d: %d bytes of %d", size, kind, len(b), 3*size[0]*size[1])
		}
	}
}

func tree(title string, buttons ...string) *Tree {
	w := &Node{Key: "w", Role: RoleWindow, Name: title, States: Visible, Rect: Rect{0, 0, 100, 100}}
	box := &Node{Key: "box", Role: "panel", Parent: w, States: Visible}
	w.Children = []*Node{box}
	for i, name := range buttons {
		b := &Node{Key: fmt.Sprint(name, i), Role: "push button", Name: name, Parent: box, States: Visible, Can: CanAct,
			Rect: Rect{10, 10 * i, 20, 8}}
		b.Children = []*Node{{Key: b.Key + "l", Role: RoleLabel, Name: name, Parent: b, States: Visible}}
		box.Children = append(box.Children, b)
	}
	return &Tree{Windows: []*Node{w}, Nodes: 2 + 2*len(buttons)}
}

// TestNamesStay: an id stays while its element does, whatever its title becomes and what comes before it.
func TestNamesStay(t *testing.T) {
	n := newNames()
	a := tree("Untitled", "OK", "OK", "Cancel")
	n.name(a)
	ids := map[string]string{}
	seen := map[string]bool{}
	a.Windows[0].Walk(func(n *Node) bool {
		if seen[n.ID] {
			t.Errorf("%s twice", n.ID)
		}
		ids[n.Key], seen[n.ID] = n.ID, true
		return true
	})
	b := tree("*Untitled, changed", "OK", "OK", "Cancel")
	n.name(b)
	b.Windows[0].Walk(func(n *Node) bool {
		if ids[n.Key] != n.ID {
			t.Errorf("%s was %s, is %s", n.Key, ids[n.Key], n.ID)
		}
		return true
	})
	restarted := newNames()
	c := tree("Other document", "OK", "OK", "Cancel")
	restarted.name(c)
	if got := c.Windows[0].Children[0].Children[2].ID; got != ids["Cancel2"] {
		t.Errorf("after a restart %s, before %s", got, ids["Cancel2"])
	}
}

// TestWritten: boxes and repeated labels are folded, and what does not fit is counted.
func TestWritten(t *testing.T) {
	n := newNames()
	a := tree("W", "One", "Two")
	n.name(a)
	w := Write(a.Windows, 0, false, 0)
	if lines := strings.Split(w.Text, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[1], "  btn#") ||
		!strings.Contains(lines[2], "[Two] (20x8+10+10)") {
		t.Errorf("written:\n%s", w.Text)
	}
	if w := Write(a.Windows, 0, false, 60); w.Left != 1 {
		t.Errorf("in 60 bytes %d are left out of\n%s", w.Left, w.Text)
	}
	b := tree("W", "One", "Two", "Three")
	n.name(b)
	d := ShotOf(b).Since(ShotOf(a))
	if len(d.Came) != 1 || len(d.Went)+len(d.Changed) != 0 || !strings.Contains(d.Came[0], "Three") {
		t.Errorf("difference %+v", d)
	}
}

// TestTitles: a whole name before a part of one, near names where there is none, all of them where there are several.
func TestTitles(t *testing.T) {
	n := newNames()
	a := tree("W", "Open", "Open…", "Save As", "Save All")
	n.name(a)
	if f, err := a.FindTitle("save as", ""); err != nil || f.Name != "Save As" {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := a.FindTitle("Save", ""); err == nil || !strings.Contains(err.Error(), "2 elements") {
		t.Errorf("two of them: %v", err)
	}
	if _, err := a.FindTitle("Sava As", "btn"); err == nil || !strings.Contains(err.Error(), "Save As") {
		t.Errorf("near: %v", err)
	}
}

func TestShrink(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 3000, 1000))
	small, scale := Shrink(m, 1568, 1_150_000)
	if b := small.Bounds(); b.Dx() > 1568 || b.Dx()*b.Dy() > 1_150_000 || scale > 0.53 || scale < 0.5 {
		t.Errorf("%v, scale %v", b, scale)
	}
}
