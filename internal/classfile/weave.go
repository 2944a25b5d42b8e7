package classfile

import (
	"errors"
	"fmt"
)

// ErrNoCode is of methods that are abstract or native.
var ErrNoCode = errors.New("it has no code in the class")

// Recorder is the class whose static methods woven code calls. T is a class of its own that stands for a record.
//
//	T begin(int)                     a call begins; the number of the method
//	T i(T,int) j(T,long) f(T,float) d(T,double) z(T,boolean) c(T,char) o(T,Object)   an argument
//	void end(T)                      all arguments are there
//	void exitV(int)                  it returns
//	void exitI(int,int) exitJ(long,int) exitF(float,int) exitD(double,int) exitZ(boolean,int) exitC(char,int)
//	     exitO(Object,int)           it returns this
//	void thrown(Throwable,int)       an exception leaves it
//	T beginS(int,Object,int)         begin of a SuspendFunction: its last argument, and 1 if that is its continuation;
//	     of a SuspendLambda: itself, and 2
//	void exitS(Object,int) thrownS(Throwable,int)    of both
//	void exitT(Object,int)           of a SuspendTail
type Recorder struct {
	Class, Record string // with slashes
}

// kindOf is how the recorder takes a value of a type: the letter of its method, its descriptor, how it is loaded.
func kindOf(t byte) (letter byte, desc string, load byte) {
	switch t {
	case 'Z':
		return 'z', "Z", opIload
	case 'C':
		return 'c', "C", opIload
	case 'B', 'S', 'I':
		return 'i', "I", opIload
	case 'J':
		return 'j', "J", opIload + 1
	case 'F':
		return 'f', "F", opIload + 2
	case 'D':
		return 'd', "D", opIload + 3
	}
	return 'o', "Ljava/lang/Object;", opIload + 4
}

// Weave has a method call the recorder, with number as what it is called: at its beginning with its arguments, before
// each return with the result, and where an exception leaves it. The object of a method that has one is its first
// argument, but not in a constructor, where it is none yet.
//
// A constructor whose call of super(…) cannot be told is not watched for exceptions; nor is any before that call.
func (f *File) Weave(i int, number int32, rec Recorder) error {
	return f.change(i, func(w *weaver, c *code) ([]byte, error) {
		w.rec, w.number = rec, number
		return w.weave(c)
	})
}

// change replaces a method's code by what it becomes.
func (f *File) change(i int, become func(w *weaver, c *code) ([]byte, error)) error {
	m, err := f.Method(i)
	if err != nil {
		return err
	}
	attrs := f.Methods[i].Attributes
	where := -1
	for k, a := range attrs {
		if s, _ := f.Pool.Utf8(a.Name); s == "Code" {
			where = k
		}
	}
	if where < 0 {
		return ErrNoCode
	}
	c, err := readCode(attrs[where].Data)
	if err != nil {
		return err
	}
	data, err := become(&weaver{file: f, method: &m}, c)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	changed := append([]Attribute(nil), attrs...)
	changed[where].Data = data
	f.Methods[i].Attributes = changed
	return nil
}

// weaver inserts calls into one method. The first error stays.
type weaver struct {
	file   *File
	method *Method
	rec    Recorder
	number int32
	err    error
}

func (w *weaver) call(b []byte, name, desc string) []byte {
	i, err := w.file.Pool.addMethod(w.rec.Class, name, desc)
	if err != nil && w.err == nil {
		w.err = err
	}
	return put16(append(b, opInvokestatic), i)
}

// push puts the method's number on the stack.
func (w *weaver) push(b []byte) []byte {
	if w.number >= 0 && w.number < 1<<15 {
		return put16(append(b, opSipush), uint16(w.number))
	}
	i, err := w.file.Pool.addInteger(w.number)
	if err != nil && w.err == nil {
		w.err = err
	}
	return put16(append(b, opLdcW), i)
}

func (w *weaver) prologue() []byte {
	t := "L" + w.rec.Record + ";"
	b := w.begin(t)
	if !w.method.Static() && !w.method.Constructor() {
		b = w.call(append(b, opAload0), "o", "("+t+"Ljava/lang/Object;)"+t)
	}
	for _, p := range w.method.Params {
		letter, desc, op := kindOf(p.Type)
		b = w.call(load(b, op, p.slot), string(letter), "("+t+desc+")"+t)
	}
	return w.call(b, "end", "("+t+")V")
}

// load puts a variable on the stack.
func load(b []byte, op byte, slot int) []byte {
	if slot < 256 {
		return append(b, op, byte(slot))
	}
	return put16(append(b, opWide, op), uint16(slot))
}

func (w *weaver) exit() []byte {
	if name, _ := w.method.Suspend.left(); name != "" {
		return w.call(w.push([]byte{opDup}), name, "(Ljava/lang/Object;I)V")
	}
	if w.method.Result == 'V' {
		return w.call(w.push(nil), "exitV", "(I)V")
	}
	dup := byte(opDup)
	if width(w.method.Result) == 2 {
		dup = opDup2
	}
	letter, desc, _ := kindOf(w.method.Result)
	return w.call(w.push([]byte{dup}), "exit"+string(letter-'a'+'A'), "("+desc+"I)V")
}

func (w *weaver) thrown() []byte {
	_, name := w.method.Suspend.left()
	return append(w.call(w.push([]byte{opDup}), name, "(Ljava/lang/Throwable;I)V"), opAthrow)
}

// moreStack is what an exit needs above what the method has: a value again, and the number.
const moreStack = 3

func (w *weaver) weave(c *code) ([]byte, error) {
	l, err := newLayout(c.bytes)
	if err != nil {
		return nil, err
	}
	first := 0 // instruction from which exceptions are seen
	if w.method.Constructor() {
		first = w.file.superCall(c.bytes, l.list)
	}
	l.prologue = w.prologue()
	exit := w.exit()
	for i, in := range l.list {
		if returns(c.bytes[in.at]) {
			l.before[i] = exit
		}
	}
	if first >= 0 {
		l.epilogue = w.thrown()
	}
	return w.finish(c, l, first)
}

// finish writes the code with what is to be inserted. Exceptions are seen from the instruction first on, -1: none are.
func (w *weaver) finish(c *code, l *layout, first int) ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	if err := l.place(); err != nil {
		return nil, err
	}
	out := &code{maxLocals: c.maxLocals, maxStack: c.maxStack + moreStack}
	if int(c.maxStack)+moreStack > 0xFFFF {
		return nil, ErrTooLarge
	}
	out.maxStack = max(out.maxStack, moreStack+1)
	var err error
	if out.bytes, err = l.write(); err != nil {
		return nil, err
	}
	if err := w.handlers(out, c, l, first); err != nil {
		return nil, err
	}
	if err := w.attributes(out, c, l, first >= 0); err != nil {
		return nil, err
	}
	return out.marshal(), nil
}

func (w *weaver) handlers(out, c *code, l *layout, first int) error {
	for _, h := range c.handlers {
		start, err := l.moved(int(h.start))
		end, err2 := l.moved(int(h.end))
		target, err3 := l.moved(int(h.target))
		if err := errors.Join(err, err2, err3); err != nil {
			return err
		}
		out.handlers = append(out.handlers, handler{uint16(start), uint16(end), uint16(target), h.class})
	}
	if first >= 0 {
		if len(out.handlers) >= 0xFFFF {
			return ErrTooLarge
		}
		out.handlers = append(out.handlers, handler{uint16(l.label[first]), uint16(l.end), uint16(l.end), 0})
	}
	return nil
}

// framesFrom is the version of classes whose code has frames: Java 6.
const framesFrom = 50

// attributes moves those of the code. Those that nobody needs to run or debug it are left out: they would have to move,
// too.
func (w *weaver) attributes(out, c *code, l *layout, handles bool) error {
	framed := false
	for _, a := range c.attributes {
		name, _ := w.file.Pool.Utf8(a.Name)
		var err error
		switch name {
		case "StackMapTable":
			framed = true
			a.Data, err = w.frames(a.Data, l, handles)
		case "LineNumberTable":
			a.Data, err = moveLines(a.Data, l)
		case "LocalVariableTable", "LocalVariableTypeTable":
			a.Data, err = moveVariables(a.Data, l)
		default:
			continue
		}
		if err != nil {
			return err
		}
		out.attributes = append(out.attributes, a)
	}
	if framed || !handles || w.file.Major < framesFrom {
		return nil
	}
	name, err := w.file.Pool.addUtf8("StackMapTable")
	if err != nil {
		return err
	}
	data, err := w.frames(nil, l, true)
	out.attributes = append(out.attributes, Attribute{name, data})
	return err
}

func (w *weaver) frames(data []byte, l *layout, handles bool) ([]byte, error) {
	if !handles {
		return moveFrames(data, l, 0)
	}
	thrown, err := w.file.Pool.addClass("java/lang/Throwable")
	if err != nil {
		return nil, err
	}
	return moveFrames(data, l, thrown)
}

// Prepend has a method call a static method at its beginning with what its first n variables hold, which are objects.
func (f *File) Prepend(i int, class, name, desc string, n int) error {
	return f.change(i, func(w *weaver, c *code) ([]byte, error) {
		l, err := newLayout(c.bytes)
		if err != nil {
			return nil, err
		}
		for k := range n {
			l.prologue = append(l.prologue, opAload0+byte(k))
		}
		w.rec.Class = class
		l.prologue = w.call(l.prologue, name, desc)
		return w.finish(c, l, -1)
	})
}
