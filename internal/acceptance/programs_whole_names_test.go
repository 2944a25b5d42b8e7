//go:build linux

package acceptance

import (
	"regexp"
	"strings"
)

// Of a function's name: what has a meaning in patterns, or none; what patterns do not look at; and all operators, of
// which "operator*" is one.
var (
	unpatterned  = regexp.MustCompile(`[^\w:<>&, ]+`)
	abiTag       = regexp.MustCompile(`\[abi:\w+\]`)
	operatorName = regexp.MustCompile(`\boperator\b[^\w ].*$`)
)

// patternOf is a pattern that takes a function: a star for each part of its name that is no word. Others that it takes
// are looked away from. Of what is in a function the whole name is one.
func patternOf(name string) string {
	if strings.Contains(strings.TrimSuffix(name, "operator()"), "(") {
		return name
	}
	name = operatorName.ReplaceAllString(abiTag.ReplaceAllString(name, ""), "operator**")
	if name = unpatterned.ReplaceAllString(name, "*"); strings.HasSuffix(name, "operator*") {
		name += "*"
	}
	return name
}

// leadsToNull reports a pointer that is not null, to what a formatter shows as null.
func leadsToNull(shown any) bool {
	m, ok := shown.(map[string]any)
	inner, is := m["*"]
	return ok && is && inner == nil
}
