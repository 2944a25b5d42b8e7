// Package expr owns the expression language of watches, conditions, logpoints and memory reads:
// names in scope, members, elements, dereference, casts, arithmetic, comparison and logic over a
// target's variables, without side effects.
//
// It stands in front of the data path: Parse reads the text, Check gives names and types a
// meaning through a Scope, and then the same checked expression is either compiled to a walk
// program, which the agent runs in the target at the moment of an event, or evaluated here over an
// Env. What programs cannot compute (floats, $threadName) is split: programs read the operands, and the
// rest is computed when the event is drained. All give the same result; a test compares them on
// generated expressions.
//
// What can be written:
//
//	literals     42 0x2a 0b101 0o17 1_000 1'000 42u 7ul 5u8 1.5 2e3f 'a' '\n' b'a' "text" b"text" R"(text)"
//	             true false null NULL nullptr (also True, False, nil)
//	names        x  this->x (also bare x inside a method)  ns::global  Type<int>::count  file.c::static_name
//	specials     args[n] ($args[n] where a variable hides it)  $return  $thread  $threadName  $pid  $rdi and what else
//	             the Scope knows
//	access       a.b  a->b (the same: pointers and references are followed as needed)  t.0  p[i]  v[i]  *p  &x
//	casts        (uint64_t)x  (struct node *)p  static_cast<T>(x)  u32(x)  x as u32  p as *const Node
//	operators    ! not - + ~ * / % << >> < <= > >= == != & ^ | && and || or  c ? a : b
//	functions    len(x), also x.size(), x.length(), x.len(): characters of text, elements of arrays, slices, Vec and
//	             std::vector
//	             x.empty() x.is_empty(); sizeof(T) sizeof(x); x.is_some() x.is_none() x.is_ok() x.is_err(),
//	             which are x == Some and so on
//	variants     x == Circle  x.Circle.0 of a Rust enum; reading the payload of another variant is an error;
//	             opt == null is None
//
// `and`, `or` and `not` bind as `&&` and `||` do, `not` weaker than a comparison. In Rust `&`, `^`
// and `|` bind tighter than a comparison, elsewhere as in C. `(name) - 1` is a subtraction unless name
// is a built-in type; `(name) x` is a cast.
//
// Arithmetic is that of the language: C's promotions and conversions in C and C++, operands of one
// type in Rust, where a literal takes the type of the other side. Integers wrap at their width,
// and a shift takes its count modulo the width; so nothing is undefined. Dividing by zero and
// reading what is not mapped are errors. Text compares with == and != only, up to the first NUL
// where it has no length; two texts that are alike for 4096 bytes (512 where one ends at a NUL) and go on
// are an error.
//
// Invariants: an Expr is immutable once checked and safe for concurrent use. No input, however long
// or deep, costs more than the limits in this package. Every error of Parse and Check is an *Error
// with a position; every error of Eval is an *EvalError.
package expr
