package export

func (t *timeline) write(w pageWriter) {
	if len(t.Threads) == 0 {
		return
	}
	width, height := number(t.Width), number(t.Height)
	w.put(`<h2 id="timeline">Timeline</h2>`+"\n"+`<svg viewBox="0 0 `, width, " ", height, `" width="`, width,
		`" height="`, height, `" role="img">`+"\n")
	for _, b := range t.Threads {
		b.write(w, width)
	}
	for i, m := range t.Marks {
		anchor := "middle"
		switch i {
		case 0:
			anchor = "start"
		case timelineTicks:
			anchor = "end"
		}
		w.put(`<text x="`, decimal(m.X), `" y="`, number(t.Height-3), `" text-anchor="`, anchor, `">`, m.Text, "</text>\n")
	}
	w.put(`</svg>
<div class="dim">Rows are depths; grey: several calls that are too short to be drawn alone; red edge: left by an error;
marks above a band: output.`)
	if t.More != 0 {
		w.put(" ", number(t.More), " threads that did less, or nothing that is drawn, have no band.")
	}
	if t.Deeper != 0 {
		w.put(" ", number(t.Deeper), " calls lie\ndeeper than the ", number(timelineDepth), " rows.")
	}
	w.put("</div>\n\n")
}

func (b *band) write(w pageWriter, width string) {
	w.put(`<g><rect class="band" x="0" y="`, number(b.Y), `" width="`, width, `" height="`, number(b.Height),
		`"></rect>`+"\n"+`<text x="2" y="`, number(b.Y-4), `">`, b.Name, "</text>\n")
	for i := range b.Rects {
		r := &b.Rects[i]
		w.put(`<rect class="c`, number(r.Colour), class(r.Error, " err")+`" x="`, decimal(r.X), `" y="`, number(r.Y),
			`" width="`, decimal(r.W), `" height="13"><title>`, r.Title, "</title></rect>\n")
		if r.Label != "" {
			w.put(`<text class="label" x="`, decimal(r.X), `" dx="2" y="`, number(r.Y+10), `">`, r.Label, "</text>\n")
		}
	}
	for _, o := range b.Outputs {
		w.put(`<rect class="out`+class(o.Stderr, "err")+`" x="`, decimal(o.X), `" y="`, number(b.Y-3),
			`" width="1.5" height="3"></rect>`+"\n")
	}
	for _, x := range b.Crashes {
		w.put(`<line class="crash" x1="`, decimal(x), `" x2="`, decimal(x), `" y1="`, number(b.Y-4), `" y2="`,
			number(b.Y+b.Height), `"><title>crash</title></line>`+"\n")
	}
	w.put("</g>\n")
}

func (p *page) writeTrees(w pageWriter) {
	if len(p.Trees) == 0 {
		return
	}
	w.put(`<h2 id="calls">Calls</h2>`+"\n"+`<p class="dim">`, number(p.Shown), " calls in the order in which they began")
	if p.MoreCalls != 0 {
		w.put("; ", number(p.MoreCalls), " later ones are not in this\ntree")
	}
	w.put(".</p>\n")
	for _, t := range p.Trees {
		w.put("<h3>", t.Thread, `</h3><div class="calls">`)
		for _, c := range t.Calls {
			c.write(w)
		}
		w.put("</div>\n")
	}
	w.put("\n")
}

// write writes a call and what is below it.
func (c *pageCall) write(w pageWriter) {
	switch {
	case c.Output != "":
		colour := "ok"
		if c.Stderr {
			colour = "bad"
		}
		w.put(`<div class="leaf `, colour, `" title="#`, number(c.ID), `">│ `, c.Output, "</div>\n")
	case len(c.Calls) > 0:
		w.put(`<details`+class(c.Unfolded, " open")+`><summary id="e`, number(c.ID), `">`)
		c.writeLine(w)
		w.put("</summary>\n")
		for _, below := range c.Calls {
			below.write(w)
		}
		w.put("</details>\n")
	default:
		w.put(`<div class="leaf" id="e`, number(c.ID), `">`)
		c.writeLine(w)
		w.put("</div>\n")
	}
}

// writeLine writes the call itself.
func (c *pageCall) writeLine(w pageWriter) {
	w.put(`<span title="#`, number(c.ID), " at ", at(c.At))
	w.putIf(", ", c.Place, "")
	w.put(`">`)
	if c.Level != 0 {
		w.put(`<span class="dim">level `, number(c.Level), ": </span>")
	}
	w.put("<b>", c.Name, "</b>(", c.Arguments, ")</span>")
	w.putIf(" → ", c.Result, "")
	if c.Ended != "" {
		colour := "dim"
		if c.Error {
			colour = "bad"
		}
		w.put(` <span class="`, colour, `">`, c.Ended, "</span>")
	}
	if !c.open {
		w.put(` <span class="dim">`, span(c.Span), "</span>")
	}
	for _, text := range c.Notes {
		w.put(` <span class="dim">`, text, "</span>")
	}
}
