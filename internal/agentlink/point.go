package agentlink

// Point is a breakpoint or logpoint: docs/agentlink.md, Points.
type Point struct {
	ID        string `json:"id"`
	Function  string `json:"function,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Condition string `json:"condition,omitempty"`
	HitCount  int64  `json:"hitCount,omitempty"`
	Message   string `json:"message,omitempty"`
}
