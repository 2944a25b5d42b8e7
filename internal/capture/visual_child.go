package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/natvis"
)

// child makes one child of Expand.
func (c *visualCompiler) child(k *natvis.Child) (p shapePart, err *misfit) {
	if p.cond, err = c.condition(k.Cond, c.self, k.Line); err != nil {
		return p, err
	}
	if v, ok := constantOf(p.cond); ok && v != 0 {
		p.cond = nil
	} else if ok && v == 0 {
		p.s = &shape{kind: shapeAbsent}
		return p, nil
	}
	if p.cond != nil {
		c.under++
		defer func() { c.under-- }()
	}
	switch k.Kind {
	case natvis.Item, natvis.ExpandedItem:
		if k.Kind == natvis.Item {
			p.name = strings.Trim(plainText(k.Name), "[]")
		}
		p.s, err = c.leaf(k.Value, c.self, k.Line, p.cond != nil)
	case natvis.Synthetic:
		p.name = strings.Trim(plainText(k.Name), "[]")
		p.s, err = c.synthetic(k)
	default:
		p.name = "items"
		p.s, err = c.listOf(k)
	}
	return p, err
}

func constantOf(e *expr.Expr) (uint64, bool) {
	if e == nil {
		return 0, false
	}
	return e.Constant()
}

func plainText(parts []natvis.Part) string {
	text := ""
	for _, p := range parts {
		if p.Expr == nil {
			text += p.Text
		} else {
			text += "{" + p.Expr.Text + "}"
		}
	}
	return text
}

// synthetic is a child that has no expression of its own.
func (c *visualCompiler) synthetic(k *natvis.Child) (*shape, *misfit) {
	text, err := c.displays(k.Strings, true)
	if err != nil {
		return nil, err
	}
	if kids := inView(k.Expand, c.view); len(kids) > 0 {
		if main := withoutMeta(kids); len(main) > 0 && onlyValues(main) {
			values, err := c.values(main)
			return choose(append(text, values...)), err
		}
		return c.items(kids)
	}
	shown, err := c.displays(k.Shown, false)
	if err != nil {
		return nil, err
	}
	if text = append(text, shown...); len(text) == 0 {
		return &shape{kind: shapeAbsent}, nil
	}
	return choose(text), nil
}
