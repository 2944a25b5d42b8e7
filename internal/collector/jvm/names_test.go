package jvm

import "testing"

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"java/util/Map$Entry": "java.util.Map.Entry", "Main": "Main", "a/B$1": "a.B$1", "a/B$1$C": "a.B$1.C",
		"a/B$": "a.B$", "a/$B": "a.$B", "a/B$$C": "a.B$$C",
	} {
		if got := shown(in); got != want {
			t.Errorf("shown(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"total": "total", "<init>": "new", "<clinit>": "static", "lambda$main$0": "main.lambda$0",
		"lambda$new$12": "new.lambda$12", "lambda$": "lambda$", "lambda$x": "lambda$x",
	} {
		if got := methodName(in); got != want {
			t.Errorf("methodName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	const name = "shop.sub.Order.Line.total"
	for glob, want := range map[string]bool{
		name: true, "Order.Line.total": true, "Line.total": true, "sub.Order.Line.total": true, "total": false,
		"*.total": true, "**": true, "**total": true, "shop.**": true, "shop.*": false, "shop.*.total": false,
		"shop.**.total": true, "shop.**.sub.Order.Line.total": true, "Line.t?tal": true, "Line?total": false, "ne.total": false,
		"Line.to": false, "shop.sub.Order.*.*": true, "": false,
	} {
		if got := named(glob, name); got != want {
			t.Errorf("named(%q) = %v, want %v", glob, got, want)
		}
	}
}

// FuzzPatterns: a name is found by itself, whatever else is asked.
func FuzzPatterns(f *testing.F) {
	f.Add("shop.**.total*", "shop.Order.total")
	f.Fuzz(func(t *testing.T, glob, name string) {
		if len(glob) < 30 && len(name) < 60 {
			named(glob, name)
		}
		shown(name)
		methodName(name)
	})
}
