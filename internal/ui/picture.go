package ui

import (
	"context"
	"errors"
	"image"
	"math"
)

// Picture is what an element shows, or, where it is of windows, all of them as they are on the screen. It returns where
// on the screen it is.
func (p *Panel) Picture(ctx context.Context, nodes []*Node, single bool) (*image.RGBA, Rect, error) {
	if len(nodes) == 0 {
		return nil, Rect{}, errors.New("nothing is shown")
	}
	if single || len(nodes) == 1 {
		r := nodes[0].Rect
		if r.Empty() {
			return nil, r, errors.New("element " + nodes[0].ID + " has no place on the screen")
		}
		m, err := p.d.Picture(ctx, nodes[0], r)
		return m, r, err
	}
	var all Rect
	for _, n := range nodes {
		all = all.union(n.Rect)
	}
	m, err := p.d.Screen(ctx, all)
	return m, all, err
}

func (r Rect) union(o Rect) Rect {
	switch {
	case r.Empty():
		return o
	case o.Empty():
		return r
	}
	x, y := min(r.X, o.X), min(r.Y, o.Y)
	return Rect{x, y, max(r.X+r.W, o.X+o.W) - x, max(r.Y+r.H, o.Y+o.H) - y}
}

// Shrink makes a picture fit, by the mean of the points that become one. It returns how much smaller it is.
func Shrink(m *image.RGBA, side, area int) (*image.RGBA, float64) {
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	f := min(1, float64(side)/float64(max(w, h)), math.Sqrt(float64(area)/float64(w*h)))
	if f == 1 {
		return m, 1
	}
	nw, nh := max(1, int(float64(w)*f)), max(1, int(float64(h)*f))
	out := image.NewRGBA(image.Rect(0, 0, nw, nh))
	for y := range nh {
		y0, y1 := y*h/nh, max(y*h/nh+1, (y+1)*h/nh)
		for x := range nw {
			x0, x1 := x*w/nw, max(x*w/nw+1, (x+1)*w/nw)
			var sum [3]int
			for sy := y0; sy < y1; sy++ {
				for i := m.PixOffset(x0, sy); i < m.PixOffset(x1-1, sy)+4; i += 4 {
					sum[0] += int(m.Pix[i])
					sum[1] += int(m.Pix[i+1])
					sum[2] += int(m.Pix[i+2])
				}
			}
			n, at := (x1-x0)*(y1-y0), out.PixOffset(x, y)
			out.Pix[at], out.Pix[at+1], out.Pix[at+2], out.Pix[at+3] = uint8(sum[0]/n), uint8(sum[1]/n), uint8(sum[2]/n), 255
		}
	}
	return out, math.Round(f*1000) / 1000
}

// Differ counts the points in which two pictures of one size differ; all of them where the sizes do.
func Differ(a, b *image.RGBA) int {
	if a == nil || b == nil || a.Bounds() != b.Bounds() {
		return math.MaxInt
	}
	n := 0
	for i := 0; i+3 < len(a.Pix); i += 4 {
		if a.Pix[i] != b.Pix[i] || a.Pix[i+1] != b.Pix[i+1] || a.Pix[i+2] != b.Pix[i+2] {
			n++
		}
	}
	return n
}
