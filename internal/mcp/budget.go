package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
)

// MetaWhole in a request's _meta, set to true, says that a program reads the answer: without maxTokens it is whole. A
// model pays for each word and has query.DefaultTokens.
const MetaWhole = "strobe/whole"

// asked is what a call says of its answer's size.
type asked struct {
	limit  int    // bytes; 0: none
	cursor string // of an answer before: nothing is run
}

// sizeOf reads that, and puts the default into arguments that a model sent, so that the operation knows what it has.
func sizeOf(arguments []byte, program bool) ([]byte, asked) {
	var in map[string]json.RawMessage
	arguments = bytes.TrimSpace(arguments)
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = []byte("{}")
	}
	if json.Unmarshal(arguments, &in) != nil {
		return arguments, asked{} // whoever decodes it says what is wrong
	}
	var a asked
	_ = json.Unmarshal(in["cursor"], &a.cursor) // of another type: see above
	tokens := 0
	if raw, ok := in["maxTokens"]; ok {
		_ = json.Unmarshal(raw, &tokens)
	} else if !program {
		tokens = query.DefaultTokens
		sep := ","
		if len(in) == 0 {
			sep = ""
		}
		arguments = fmt.Appendf(nil, `{"maxTokens":%d%s%s`, tokens, sep, arguments[1:])
	}
	if tokens >= query.MinTokens && tokens <= query.MaxTokens { // else it is refused
		a.limit = tokens * query.TokenBytes
	}
	return arguments, a
}

// goOn is the page behind a cursor.
func (s *Server) goOn(a asked) ([]byte, error) {
	rest := s.shelf.Get(a.cursor)
	if rest == nil {
		return nil, fault.New(fault.ValidationError, "Ask again without cursor.",
			"cursor: %.40q is not kept: cursors are for the newest answers of a daemon", a.cursor)
	}
	if a.limit == 0 {
		a.limit = query.DefaultTokens * query.TokenBytes
	}
	return rest.Next(a.limit, s.shelf.Put), nil
}
