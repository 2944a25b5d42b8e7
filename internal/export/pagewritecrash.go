package export

import (
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/value"
)

func (p *page) writeCrashes(w pageWriter) {
	if len(p.Crashes) > 0 {
		w.put(`<h2 id="crash">Crash</h2>` + "\n")
	}
	for _, c := range p.Crashes {
		c.writeWhere(w)
		c.writeWhy(w)
		c.writeStack(w)
		if c.Report != nil {
			writeTool(w, c.Report)
		}
		c.writeThreads(w)
		if len(c.Registers) > 0 {
			w.put("<details><summary>Registers</summary><pre>")
			for _, m := range c.Registers {
				w.put("", m.Name, " ", m.Value.String(), "\n")
			}
			w.put("</pre></details>")
		}
		w.putIf("<pre>", c.Raw, "</pre>")
		w.put("\n")
	}
	if p.MoreCrashes > 0 {
		w.put(`<p class="dim">`, number(p.MoreCrashes), " more crashes are not shown.</p>")
	}
	w.put("\n\n")
}

// writeWhere: what happened, and at which place.
func (c *pageCrash) writeWhere(w pageWriter) {
	w.put(`<h3 class="bad">`)
	w.putIf("", c.Signal, ": ")
	w.put("", c.Reason, "</h3>\n<div>")
	w.putIf("in <code>", c.Function, "</code>")
	if c.File != "" {
		w.put(" at <code>", c.File, ":", number(c.Line), "</code>")
	}
	w.put("\n"+`<span class="dim">`, c.Thread, ", ", at(c.At))
	w.putIf(", address ", c.FaultAddress, "")
	w.put("</span></div>\n")
}

// writeWhy: the exception and what led to it.
func (c *pageCrash) writeWhy(w pageWriter) {
	w.putIf("<div>exception <code>", c.ExceptionType, "</code></div>")
	w.putIf("<pre>", c.ExceptionMessage, "</pre>\n")
	if t := c.ThrownAt; t != nil {
		w.put("<div>thrown in <code>", t.Function, "</code> at <code>", t.File, ":", number(t.Line), "</code></div>\n")
	}
	for _, text := range c.Nested {
		w.put("<div>caused by ", text, "</div>")
	}
	for _, text := range c.CausedBy {
		w.put("<div>caused by ", text, "</div>\n")
	}
	for i := range c.Causes {
		w.put("<div>caused by ", c.Causes[i].Text(), "</div>")
		if stack := c.Causes[i].Backtrace; len(stack) > 0 {
			writeFrames(w, stack)
		}
	}
	w.putIf("\n<div>recursion: ", c.Recursion, "</div>")
	w.putIf("<div>", c.EndedBy, "</div>\n")
}

func (c *pageCrash) writeStack(w pageWriter) {
	if values := c.Values(); len(values) > 0 {
		w.put("<h3>Values there</h3><pre>")
		writeValues(w, "", values, 2000)
		w.put("</pre>\n")
	}
	if len(c.Backtrace) > 0 {
		w.put("<h3>Stack</h3>")
		writeFrames(w, c.Backtrace)
		w.put("\n")
	}
	if c.FramesOmitted != 0 {
		w.put(`<div class="dim">`, number(c.FramesOmitted), " frames are not shown</div>\n")
	}
	w.putIf(`<div class="dim">the stack ends early: `, c.StackEnd, "</div>\n")
}

func writeFrames(w pageWriter, frames []crash.Frame) {
	w.put("<pre>")
	for i := range frames {
		f := &frames[i]
		w.put("", f.Text())
		w.putIf(` <span class="dim">(by `, f.FoundBy, ", may be wrong)</span>")
		w.put("\n")
		writeValues(w, "     ", f.Arguments, 400)
		writeValues(w, "     ", f.Locals, 400)
	}
	w.put("</pre>")
}

// writeValues writes each on a line that begins with indent.
func writeValues(w pageWriter, indent string, values value.Object, limit int) {
	for _, m := range values {
		w.put(indent+`<span class="dim">`, m.Name, " =</span> ", m.Value.Short(limit), "\n")
	}
}

// writeTool: what a sanitizer or another tool in the program said.
func writeTool(w pageWriter, r *crash.Report) {
	w.put("<h3>", r.Tool, " ", r.Kind, "</h3><pre>", r.Message)
	w.putIf("\n", r.Location, "")
	w.put("</pre>")
	for _, s := range r.Stacks {
		w.put("<div>", s.Title, "</div>")
		writeFrames(w, s.Backtrace)
	}
	w.put("\n")
}

func (c *pageCrash) writeThreads(w pageWriter) {
	if len(c.Threads) == 0 {
		return
	}
	w.put("<details><summary>Other threads</summary>")
	for i := range c.Threads {
		t := &c.Threads[i]
		w.put("<div>thread ", number(t.ThreadID), " ", t.Name)
		if t.Alike != 0 {
			w.put(" and\n", number(t.Alike), " more alike")
		}
		w.put("</div><pre>")
		for _, frame := range t.Backtrace {
			w.put("", frame, "\n")
		}
		w.put("</pre>")
	}
	if c.MoreThreads != 0 {
		w.put(`<div class="dim">`, number(c.MoreThreads), " more threads</div>")
	}
	w.put("</details>\n")
}
