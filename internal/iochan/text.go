package iochan

import (
	"bytes"
	"unicode/utf8"
)

// isText reports whether bytes are UTF-8 without a zero: what is shown as it is.
func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }
