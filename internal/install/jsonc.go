package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth bounds how deep a file is followed: deeper ones are left alone, not our stack's end.
const maxDepth = 500

// bom may stand before a file's text. It stays.
var bom = []byte("\xef\xbb\xbf")

// jsonNode is a value and where its bytes are.
type jsonNode struct {
	start, end int
	object     bool
	members    []jsonMember
}

// jsonMember is a member of an object. comma is where the comma behind it stands, or -1.
type jsonMember struct {
	key      string
	keyStart int
	value    jsonNode
	comma    int
}

// jsonDoc is a file of JSON, with comments and trailing commas where it has them.
type jsonDoc struct {
	src   []byte
	plain []byte // the same bytes, with blanks for what JSON itself does not have
	pos   int
	root  jsonNode
}

// parseJSONC reads a whole file.
func parseJSONC(src []byte) (*jsonDoc, error) {
	if !utf8.Valid(src) {
		return nil, errors.New("not UTF-8")
	}
	d := &jsonDoc{src: src, plain: bytes.Clone(src)}
	if bytes.HasPrefix(src, bom) {
		d.pos = len(bom)
		d.blank(0, len(bom))
	}
	err := d.space()
	if err == nil {
		d.root, err = d.value(0)
	}
	if err == nil {
		err = d.space()
	}
	if err != nil {
		return nil, err
	}
	if d.pos < len(src) {
		return nil, d.fail("something behind the end of the value")
	}
	return d, nil
}

// parsed returns the file's value as encoding/json reads it, by which the reading above is checked.
func (d *jsonDoc) parsed() (any, error) {
	dec := json.NewDecoder(bytes.NewReader(d.plain))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

func (d *jsonDoc) fail(what string) error {
	before := d.src[:min(d.pos, len(d.src))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Errorf("line %d, column %d: %s", line, d.pos-bytes.LastIndexByte(before, '\n'), what)
}

func (d *jsonDoc) blank(from, to int) {
	for i := from; i < to; i++ {
		if d.plain[i] != '\n' && d.plain[i] != '\r' {
			d.plain[i] = ' '
		}
	}
}

func (d *jsonDoc) peek() byte {
	if d.pos < len(d.src) {
		return d.src[d.pos]
	}
	return 0
}

// space passes blanks and comments.
func (d *jsonDoc) space() error {
	for d.pos < len(d.src) {
		switch d.src[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		case '/':
			end := d.commentEnd(d.pos)
			if end < 0 {
				return d.fail("a comment that does not end, or a lone /")
			}
			d.blank(d.pos, end)
			d.pos = end
		default:
			return nil
		}
	}
	return nil
}

// commentEnd returns where the comment at i ends, without its line's end, or -1.
func (d *jsonDoc) commentEnd(i int) int {
	rest := d.src[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
			return i + n
		}
		return len(d.src)
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return i + n + 4
		}
	}
	return -1
}

func (d *jsonDoc) value(depth int) (jsonNode, error) {
	n := jsonNode{start: d.pos}
	var err error
	switch c := d.peek(); {
	case depth > maxDepth:
		err = d.fail("nested too deep")
	case c == '{':
		n.object = true
		err = d.object(&n, depth)
	case c == '[':
		err = d.array(depth)
	case c == '"':
		_, err = d.text()
	default:
		for d.pos < len(d.src) && !bytes.ContainsRune([]byte(" \t\r\n,]}/:\"{["), rune(d.src[d.pos])) {
			d.pos++
		}
		if !json.Valid(d.src[n.start:d.pos]) {
			err = d.fail("no value")
		}
	}
	n.end = d.pos
	return n, err
}

func (d *jsonDoc) text() (string, error) {
	start := d.pos
	for d.pos++; d.pos < len(d.src); d.pos++ {
		switch d.src[d.pos] {
		case '\\':
			d.pos++
		case '"':
			d.pos++
			var s string
			if err := json.Unmarshal(d.src[start:d.pos], &s); err != nil {
				d.pos = start
				return "", d.fail("a text that is none: " + err.Error())
			}
			return s, nil
		}
	}
	d.pos = start
	return "", d.fail("a text that does not end")
}

// next passes the comma behind a member or element. It returns where it stands, or -1, and whether the list has ended.
func (d *jsonDoc) next(closing byte) (comma int, ended bool, err error) {
	comma = -1
	if err = d.space(); err != nil {
		return comma, false, err
	}
	if d.peek() == ',' {
		comma = d.pos
		d.pos++
		if err = d.space(); err != nil {
			return comma, false, err
		}
		if d.peek() != closing {
			return comma, false, nil
		}
		d.blank(comma, comma+1)
	}
	if d.peek() != closing {
		return comma, false, d.fail(fmt.Sprintf("neither a comma nor %c", closing))
	}
	d.pos++
	return comma, true, nil
}

func (d *jsonDoc) object(n *jsonNode, depth int) error {
	d.pos++
	if err := d.space(); err != nil {
		return err
	}
	if d.peek() == '}' {
		d.pos++
		return nil
	}
	for {
		m := jsonMember{keyStart: d.pos}
		if d.peek() != '"' {
			return d.fail("no name of a member")
		}
		var err error
		if m.key, err = d.text(); err != nil {
			return err
		}
		if err = d.space(); err != nil {
			return err
		}
		if d.peek() != ':' {
			return d.fail("no : behind a member's name")
		}
		d.pos++
		if err = d.space(); err != nil {
			return err
		}
		if m.value, err = d.value(depth + 1); err != nil {
			return err
		}
		var ended bool
		if m.comma, ended, err = d.next('}'); err != nil {
			return err
		}
		n.members = append(n.members, m)
		if ended {
			return nil
		}
	}
}

func (d *jsonDoc) array(depth int) error {
	d.pos++
	if err := d.space(); err != nil {
		return err
	}
	if d.peek() == ']' {
		d.pos++
		return nil
	}
	for {
		if _, err := d.value(depth + 1); err != nil {
			return err
		}
		if _, ended, err := d.next(']'); err != nil || ended {
			return err
		}
	}
}

// member returns the position of the member of that name, or -1. A name that is there twice is an error: programs
// differ in which they take.
func (n *jsonNode) member(key string) (int, error) {
	at := -1
	for i := range n.members {
		if n.members[i].key == key {
			if at >= 0 {
				return -1, fmt.Errorf("%q is there twice", key)
			}
			at = i
		}
	}
	return at, nil
}
