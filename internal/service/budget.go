package service

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/strobe-debug/strobe/internal/query"
)

// Budget is what every operation takes. Front ends keep to it (internal/mcp): an operation looks at MaxTokens only
// where it knows better than they do what to leave out, and never sees a cursor.
type Budget struct {
	MaxTokens int    `json:"maxTokens,omitempty"`
	Cursor    string `json:"cursor,omitempty"`
}

// maxTokensField is its row in each operation's table.
var maxTokensField = Field{Name: "maxTokens", Min: query.MinTokens, Max: query.MaxTokens}

// encode is what front ends do with an answer.
func encode(answer any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(answer); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
