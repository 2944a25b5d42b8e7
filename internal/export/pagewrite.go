package export

import (
	"bufio"
	_ "embed"
	"fmt"
	"html"
	"strconv"
	"strings"
)

//go:embed page.css
var pageStyle string

const pageStart = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
`

// pageWriter writes pages. It stands in for html/template, which calls methods by their names: with that the linker
// keeps every exported method of the program. What it could not write, the last call of it returns.
type pageWriter struct{ *bufio.Writer }

// put writes markup and text in turn, markup first. Whatever the session says is text.
func (w pageWriter) put(parts ...string) {
	for i, s := range parts {
		if i%2 == 1 {
			s = html.EscapeString(strings.ReplaceAll(s, "\x00", "\uFFFD"))
		}
		_, _ = w.WriteString(s) // the writer keeps its first error
	}
}

// putIf is put unless the text is empty.
func (w pageWriter) putIf(before, text, after string) {
	if text != "" {
		w.put(before, text, after)
	}
}

// class is a class that something has if it is so.
func class(is bool, yes string) string {
	if is {
		return yes
	}
	return ""
}

func number[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// decimal is a place in a drawing.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// write writes the page.
func (p *page) write(to *bufio.Writer) error {
	w := pageWriter{to}
	p.writeHead(w)
	p.writeLinks(w)
	p.writeCrashes(w)
	p.writeErrors(w)
	p.Timeline.write(w)
	p.writeFunctions(w)
	p.writeTrees(w)
	p.writeOutput(w)
	p.writeOthers(w)
	w.put(`<p class="dim">Made by strobe `, p.Strobe, `. <span class="mono">strobe report --help</span></p>`+"\n")
	if _, err := w.WriteString("</body>\n</html>\n"); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func (p *page) writeHead(w pageWriter) {
	w.put(pageStart+"<title>", p.Title, "</title>\n<style>\n"+pageStyle+"</style>\n</head>\n<body>\n")
	w.put("<h1>", p.Title, "</h1>\n"+`<div class="mono">`, p.Command, "</div>\n")
	w.put(`<div class="dim">`, p.Started, ` · <b`+class(len(p.Crashes) > 0, ` class="bad"`)+`>`, p.Ended, "</b> ·\n")
	for i, k := range p.Kinds {
		if i > 0 {
			w.put(", ")
		}
		w.put("", number(k.N), " ", k.Name)
	}
	w.put("</div>\n")
	for _, line := range p.Lines {
		w.put(`<div class="dim">`, line, "</div>\n")
	}
}

// writeLinks leads to the sections that there are.
func (p *page) writeLinks(w pageWriter) {
	w.put(`<nav class="dim">`)
	for _, section := range []struct {
		id, name string
		is       bool
	}{
		{"crash", "crash", len(p.Crashes) > 0},
		{"errors", "errors", len(p.Errors) > 0},
		{"timeline", "timeline", len(p.Timeline.Threads) > 0},
		{"functions", "functions", len(p.Functions) > 0},
		{"calls", "calls", len(p.Trees) > 0},
		{"output", "output", len(p.Output) > 0},
		{"others", "other events", len(p.Others) > 0},
	} {
		if section.is {
			w.put(`<a href="#`, section.id, `">`, section.name, "</a>\n")
		}
	}
	w.put("</nav>\n\n")
}

func (p *page) writeErrors(w pageWriter) {
	if len(p.Errors) == 0 {
		return
	}
	w.put(`<h2 id="errors">Errors</h2>
<div class="scroll"><table><tr><th class="n">calls</th><th>function</th><th>left by</th><th>first</th></tr>
`)
	for _, e := range p.Errors {
		thrown := e.Thrown
		if thrown == "" {
			thrown = "what is not known: an exception, longjmp, a crash or the end of its thread"
		}
		w.put(`<tr><td class="n">`, number(e.Calls), `</td><td class="mono">`, e.Function, "</td>\n")
		w.put(`<td class="mono bad">`, thrown)
		if e.Varied {
			w.put("\n" + `<span class="dim">(the first; others have other numbers)</span>`)
		}
		w.put("</td>\n<td>")
		if e.Call != 0 {
			w.put(`<a href="#e`, number(e.Call), `">#`, number(e.Call), `</a>`)
		} else {
			w.put("#", number(e.First))
		}
		w.put(` <span class="dim">`, at(e.At), "</span></td></tr>\n")
	}
	w.put("</table></div>")
	if p.MoreErrors > 0 {
		w.put(`<p class="dim">`, number(p.MoreErrors), " calls with other errors are not listed.</p>")
	}
	w.put("\n\n")
}

func (p *page) writeFunctions(w pageWriter) {
	if len(p.Functions) == 0 {
		return
	}
	w.put(`<h2 id="functions">Functions</h2>
<div class="scroll"><table><tr><th>function</th><th class="n">calls</th><th class="n">errors</th>
<th class="n">total</th><th class="n">self</th><th class="n">p50</th><th class="n">p99</th><th>source</th></tr>
`)
	for i := range p.Functions {
		f := &p.Functions[i]
		w.put(`<tr><td class="mono">`, f.Name, `</td><td class="n">`, number(f.Calls), "</td>\n")
		w.put(`<td class="n`+class(f.Errors != 0, " bad")+`">`, number(f.Errors), "</td>")
		for _, ns := range []int64{f.Total, f.Self, f.P50, f.P99} {
			w.put(`<td class="n">`, span(ns), "</td>\n")
		}
		w.put(`<td class="mono dim">`, f.Place, "</td></tr>\n")
	}
	w.put("</table></div>")
	if p.MoreFunctions > 0 {
		w.put(`<p class="dim">`, number(p.MoreFunctions), " functions with less time of their own are not listed.</p>")
	}
	w.put("\n\n")
}

func (p *page) writeOutput(w pageWriter) {
	if len(p.Output) == 0 {
		return
	}
	w.put(`<h2 id="output">Output</h2>` + "\n" + `<div class="scroll"><pre>`)
	for i := range p.Output {
		o := &p.Output[i]
		if o.Gap != "" {
			w.put(`<span class="dim">`+"\n", o.Gap, "\n</span>")
			continue
		}
		w.put(`<span`+class(o.Stderr, ` class="bad"`)+` title="#`, number(o.ID), ` at `, at(o.At), `">`, o.Text, "</span>")
	}
	w.put("</pre></div>\n\n")
}

func (p *page) writeOthers(w pageWriter) {
	if len(p.Others) == 0 {
		return
	}
	w.put(`<h2 id="others">Other events</h2>` + "\n" + `<div class="scroll"><table>`)
	for i := range p.Others {
		o := &p.Others[i]
		w.put(`<tr><td class="n">#`, number(o.ID), `</td><td class="n dim">`, at(o.At), "</td><td>", o.Kind, "</td>\n")
		w.put(`<td class="mono">`, o.Text, "</td></tr>\n")
	}
	w.put("</table></div>")
	if p.MoreOthers > 0 {
		w.put(`<p class="dim">`, number(p.MoreOthers), " more are not listed.</p>")
	}
	w.put("\n")
}
