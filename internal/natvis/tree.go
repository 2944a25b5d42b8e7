package natvis

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits on one file. Qt's has 120 KB and 2,400 elements.
const (
	MaxFile     = 4 << 20
	maxElements = 100_000
	maxNesting  = 64
	maxText     = 16 << 10 // of one element or attribute
)

// element is one XML element.
type element struct {
	name  string
	line  int
	attrs map[string]string
	text  string
	kids  []*element
}

func (e *element) attr(name string) string { return strings.TrimSpace(e.attrs[name]) }

func (e *element) yes(name string, otherwise bool) bool {
	switch strings.ToLower(e.attr(name)) {
	case "true", "1", "yes":
		return true
	case "false", "0", "no":
		return false
	}
	return otherwise
}

// readTree reads XML. Entities of its own are not known, so nothing grows while it is read.
func readTree(data []byte) (*element, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(data), MaxFile)
	}
	d := xml.NewDecoder(bytes.NewReader(toUTF8(data)))
	d.CharsetReader = charset
	root := &element{}
	stack, count := []*element{root}, 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		top := stack[len(stack)-1]
		switch tok := tok.(type) {
		case xml.StartElement:
			line, _ := d.InputPos()
			e := &element{name: tok.Name.Local, line: line, attrs: map[string]string{}}
			for _, a := range tok.Attr {
				if len(a.Value) > maxText {
					return nil, fmt.Errorf("line %d: an attribute of %d bytes", line, len(a.Value))
				}
				e.attrs[a.Name.Local] = a.Value
			}
			if count++; count > maxElements || len(stack) > maxNesting {
				return nil, fmt.Errorf("line %d: more than %d elements, or nested deeper than %d", line, maxElements, maxNesting)
			}
			top.kids = append(top.kids, e)
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(top.text)+len(tok) > maxText && len(bytes.TrimSpace(tok)) > 0 {
				line, _ := d.InputPos()
				return nil, fmt.Errorf("line %d: text of more than %d bytes", line, maxText)
			}
			if t := string(tok); strings.TrimSpace(t) != "" {
				top.text += t
			}
		}
	}
	for _, k := range root.kids {
		if k.name == "AutoVisualizer" {
			return k, nil
		}
	}
	return nil, errors.New("there is no AutoVisualizer element")
}

// toUTF8 takes what Visual Studio writes: UTF-8 or UTF-16, with a byte order mark.
func toUTF8(b []byte) []byte {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	little := bytes.HasPrefix(b, []byte("\xff\xfe"))
	if !little && !bytes.HasPrefix(b, []byte("\xfe\xff")) {
		return b
	}
	units := make([]uint16, 0, len(b)/2)
	for i := 2; i+1 < len(b); i += 2 {
		if little {
			units = append(units, uint16(b[i])|uint16(b[i+1])<<8)
		} else {
			units = append(units, uint16(b[i+1])|uint16(b[i])<<8)
		}
	}
	return []byte(string(utf16.Decode(units)))
}

// charset reads what the XML declaration names; toUTF8 has dealt with UTF-16.
func charset(name string, r io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "utf-8", "utf8", "us-ascii", "ascii", "utf-16", "unicode":
		return r, nil
	case "windows-1252", "iso-8859-1", "latin1":
		b, err := io.ReadAll(io.LimitReader(r, MaxFile))
		out := make([]byte, 0, len(b))
		for _, c := range b {
			out = utf8.AppendRune(out, rune(c))
		}
		return bytes.NewReader(out), err
	}
	return nil, fmt.Errorf("its encoding %q is not known", name)
}
