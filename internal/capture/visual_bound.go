package capture

import (
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// What $T1, $T2 and so on stand for.

// argument is the template argument that a wildcard stands for.
func (c *visualCompiler) argument(i int) (p symbol.TemplateParam, ok bool) {
	if i >= len(c.bound) || !strings.Contains(c.named.Name, "<") {
		return p, false
	}
	t := c.named
	for n, at := range c.bound[i].Path {
		params := t.Strip().TemplateParams()
		if at >= len(params) || n > 0 && p.Const {
			return p, false
		}
		if p = params[at]; p.Type == nil {
			return p, false
		}
		t = p.Type
	}
	return p, len(c.bound[i].Path) > 0
}

// numberBound is a wildcard that stands for a number.
func (c *visualCompiler) numberBound(i int) (expr.Place, bool) {
	if p, ok := c.argument(i); ok && p.Const {
		return expr.Place{Kind: expr.PlaceConst, Addr: uint64(p.Value), Type: p.Type}, true
	}
	if n, err := strconv.ParseInt(strings.TrimRight(c.bound[i].Text, "ulUL"), 0, 64); err == nil {
		return expr.Place{Kind: expr.PlaceConst, Addr: uint64(n)}, true
	}
	return expr.Place{}, false
}

// typeBound is a wildcard that stands for a type.
func (c *visualCompiler) typeBound(i int) (*symbol.Type, bool) {
	if i >= len(c.bound) {
		return nil, false
	}
	if p, ok := c.argument(i); ok && !p.Const {
		return p.Type, true
	}
	return c.self.TypeNamed(c.bound[i].Text)
}

// withBound puts what wildcards stand for into a type's name.
func (c *visualCompiler) withBound(name string) string {
	if !strings.Contains(name, "$T") {
		return name
	}
	for i := len(c.bound) - 1; i >= 0; i-- {
		name = strings.ReplaceAll(name, "$T"+strconv.Itoa(i+1), c.bound[i].Text)
	}
	return name
}
