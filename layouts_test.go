package strobe_test

import (
	"go/ast"
	"slices"
	"testing"
)

// layoutPackages know how captured bytes read: value, who makes layouts, and record, by which all others read values.
var layoutPackages = []string{"internal/value", "internal/capture", "internal/expr", "internal/collector/native",
	"internal/agentlink", "internal/record"}

// layoutMethods give values by a layout; with how many arguments each is called, as others have methods of these names.
var layoutMethods = map[string]int{"Enter": 1, "EnterArg": 2, "Exit": 3, "Outs": 1, "WatchValues": 2}

// TestLayouts holds that nobody else decodes payloads. Tests may.
func TestLayouts(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test || slices.Contains(layoutPackages, f.dir) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "value" &&
					(sel.Sel.Name == "Layout" || sel.Sel.Name == "Unmarshal") {
					t.Errorf("%s names value.%s: read calls and their values by internal/record", f.path, sel.Sel.Name)
				}
			}
			if call, ok := n.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && layoutMethods[sel.Sel.Name] == len(call.Args) &&
					len(call.Args) > 0 {
					t.Errorf("%s calls %s: read calls and their values by internal/record", f.path, sel.Sel.Name)
				}
			}
			return true
		})
	}
}
