package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"regexp"
)

// An id is any number or text, and is answered as it was written. The SDK keeps numbers as 64-bit integers: 1.5 would
// come back as 1, and 10^29 as something else. Such ids are text to the SDK.

// plainNumber is a number that the SDK keeps as it is.
var plainNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,14})$`)

func isOdd(id json.RawMessage) bool {
	id = bytes.TrimSpace(id)
	return len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9') && !plainNumber.Match(id)
}

// plainID returns a message whose id, and that of a request that it cancels, the SDK does not change.
func (c *lineConn) plainID(msg []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	// Params of another shape have no id of a request; the message's own id was read by then, or is the SDK's to refuse.
	json.Unmarshal(msg, &m) //nolint:errcheck
	if !isOdd(m.ID) && !isOdd(m.Params.RequestID) {
		return msg
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(msg, &fields) != nil {
		return msg
	}
	if isOdd(m.ID) {
		fields["id"] = c.wrapID(m.ID)
	}
	if isOdd(m.Params.RequestID) {
		var params map[string]json.RawMessage
		if json.Unmarshal(fields["params"], &params) != nil {
			return msg
		}
		params["requestId"] = c.wrapID(m.Params.RequestID)
		fields["params"] = encoded(params)
	}
	return encoded(fields)
}

func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // maps of raw JSON always encode
	}
	return b
}

func (c *lineConn) wrapID(id json.RawMessage) json.RawMessage {
	c.oddOnce.Do(func() {
		mark := "n-" + rand.Text() + ":" // no client can guess it
		c.odd.Store(&mark)
	})
	return encoded(*c.odd.Load() + string(bytes.TrimSpace(id)))
}

// oddID puts an id back as the client wrote it.
func (c *lineConn) oddID(msg []byte) []byte {
	mark := c.odd.Load()
	if mark == nil {
		return msg
	}
	from := bytes.Index(msg, []byte(`"`+*mark))
	if from < 0 {
		return msg
	}
	number, rest, ok := bytes.Cut(msg[from+1+len(*mark):], []byte(`"`))
	if !ok {
		return msg
	}
	return bytes.Join([][]byte{msg[:from], number, rest}, nil)
}
