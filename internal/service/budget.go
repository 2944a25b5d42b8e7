package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/value"
)

// Budget is the parameter that every operation takes.
type Budget struct {
	MaxTokens int `json:"maxTokens,omitempty"`
}

// maxTokensField is its row in each operation's table.
var maxTokensField = Field{Name: "maxTokens", Min: query.MinTokens, Max: query.MaxTokens}

// smallMember is what an answer's member may have and is never cut: ids, counts, states, places.
const smallMember = 200

// fitted is an answer that was cut to its size.
type fitted struct{ json []byte }

// JSON is what clients see.
func (f fitted) JSON() ([]byte, error) { return f.json, nil }

// MarshalJSON is the same for who encodes it otherwise.
func (f fitted) MarshalJSON() ([]byte, error) { return f.json, nil }

// fit cuts an answer to the tokens that were asked for. What it leaves out is said where it stood, and that it did in
// leftOut.
func fit(params, answer any) (any, error) {
	if _, ok := answer.(interface{ fitsItself() }); ok {
		return answer, nil
	}
	p := reflect.ValueOf(params).Elem().FieldByName("MaxTokens")
	if !p.IsValid() || p.Int() == 0 {
		return answer, nil
	}
	limit := int(p.Int()) * query.TokenBytes
	whole, err := encode(answer)
	if err != nil || len(whole) <= limit {
		return answer, err
	}
	v, err := value.ParseJSON(whole)
	if err != nil || v.Kind() != value.Obj {
		return answer, nil //nolint:nilerr // ours, and valid: it is shown as it is
	}
	note := fmt.Sprintf("cut from %d to about %d bytes by maxTokens: ask with a larger one, or for less at once",
		len(whole), limit)
	return fitted{fitMembers(v.Object(), limit-len(note)-20, note)}, nil
}

// fitMembers cuts the large members of an answer and keeps the small ones.
func fitMembers(o value.Object, limit int, note string) []byte {
	var large value.Object
	for _, m := range o {
		if n := len(m.Value.AppendJSON(nil)); n > smallMember {
			large = append(large, m)
		} else {
			limit -= n + len(m.Name) + 4
		}
	}
	out := append(value.Object{}, o...)
	for _, m := range large {
		v, _ := m.Value.Fit(max(limit/len(large), smallMember/2))
		for i := range out {
			if out[i].Name == m.Name {
				out[i].Value = v
			}
		}
	}
	return append(out, value.Member{Name: "leftOut", Value: value.NewText(note)}).AppendJSON(nil)
}

// encode is what front ends do with an answer.
func encode(answer any) ([]byte, error) {
	if fast, ok := answer.(interface{ JSON() ([]byte, error) }); ok {
		return fast.JSON()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(answer); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
