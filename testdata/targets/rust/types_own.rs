// A program's own types: structs, enums with and without payload, trait objects, closures, generics,
// chains of pointers and graphs with cycles. Every case prints what must be shown of it.
#[path = "types_want.rs"]
#[macro_use]
mod want;

use std::error::Error;
use std::io;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use want::{Out, Want};

struct Unit;
struct Pair(i32, String);
struct Meters(f64);
struct Generic<T> {
    inner: T,
    marker: PhantomData<T>,
}

impl Want for Unit {
    fn want(&self, o: &mut Out) {
        o.raw("{}");
    }
}
impl Want for Pair {
    fn want(&self, o: &mut Out) {
        o.raw("[");
        self.0.want(o);
        o.raw(",");
        self.1.want(o);
        o.raw("]");
    }
}
impl Want for Meters {
    fn want(&self, o: &mut Out) {
        self.0.want(o);
    }
}
impl<T: Want> Want for Generic<T> {
    fn want(&self, o: &mut Out) {
        o.raw("{\"inner\":");
        self.inner.want(o);
        o.raw(",\"marker\":{}}");
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(dead_code)]
enum Color {
    Red,
    Green = 7,
    Blue,
}
impl Want for Color {
    fn want(&self, o: &mut Out) {
        o.quoted(&format!("{:?}", self));
    }
}

#[allow(dead_code)]
enum Shape {
    Dot,
    Circle(f64),
    Line(i32, i32),
    Rect { w: u32, h: u32, name: String },
}
impl Want for Shape {
    fn want(&self, o: &mut Out) {
        match self {
            Shape::Dot => o.quoted("Dot"),
            Shape::Circle(r) => o.raw(&format!("{{\"Circle\":{}}}", r)),
            Shape::Line(a, b) => o.raw(&format!("{{\"Line\":[{},{}]}}", a, b)),
            Shape::Rect { w, h, name } => {
                o.raw(&format!("{{\"Rect\":{{\"w\":{},\"h\":{},\"name\":", w, h));
                name.want(o);
                o.raw("}}");
            }
        }
    }
}

/// Niche keeps its discriminant inside the text's capacity.
enum Niche {
    Words(String),
    Nothing,
    Ended,
}
impl Want for Niche {
    fn want(&self, o: &mut Out) {
        match self {
            Niche::Words(s) => {
                o.raw("{\"Words\":");
                s.want(o);
                o.raw("}");
            }
            Niche::Nothing => o.quoted("Nothing"),
            Niche::Ended => o.quoted("Ended"),
        }
    }
}

enum Tree<T> {
    Leaf,
    Node(Box<Tree<T>>, T, Box<Tree<T>>),
}
impl<T: Want> Want for Tree<T> {
    fn want(&self, o: &mut Out) {
        match self {
            Tree::Leaf => o.quoted("Leaf"),
            Tree::Node(l, v, r) => {
                o.raw("{\"Node\":[");
                l.want(o);
                o.raw(",");
                v.want(o);
                o.raw(",");
                r.want(o);
                o.raw("]}");
            }
        }
    }
}
fn node<T>(l: Tree<T>, v: T, r: Tree<T>) -> Tree<T> {
    Tree::Node(Box::new(l), v, Box::new(r))
}

enum Either<A, B> {
    Left(A),
    Right { value: B },
}
impl<A: Want, B: Want> Want for Either<A, B> {
    fn want(&self, o: &mut Out) {
        match self {
            Either::Left(a) => {
                o.raw("{\"Left\":");
                a.want(o);
            }
            Either::Right { value } => {
                o.raw("{\"Right\":{\"value\":");
                value.want(o);
                o.raw("}");
            }
        }
        o.raw("}");
    }
}

trait Animal {
    fn legs(&self) -> u32;
    fn shown(&self, o: &mut Out);
}
struct Dog {
    name: String,
    age: u8,
}
struct Bird(u16);
struct Ghost;
shown!(Dog { name, age });
impl Want for Bird {
    fn want(&self, o: &mut Out) {
        self.0.want(o);
    }
}
impl Want for Ghost {
    fn want(&self, o: &mut Out) {
        o.raw("{}");
    }
}
macro_rules! animals {
    ($($ty:ty, $legs:expr;)*) => { $( impl Animal for $ty {
        fn legs(&self) -> u32 { $legs }
        fn shown(&self, o: &mut Out) {
            o.raw("{\"type\":");
            o.quoted(std::any::type_name::<Self>());
            o.raw(",\"value\":");
            o.follow(self as *const Self as usize, |o| self.want(o));
            o.raw("}");
        }
    } )* };
}
animals! { Dog, 4; Bird, 2; Ghost, 0; }
impl Want for dyn Animal + '_ {
    fn want(&self, o: &mut Out) {
        self.shown(o);
    }
}

/// Keeper has trait objects inside.
struct Keeper<'a> {
    first: &'a dyn Animal,
    rest: Vec<Box<dyn Animal>>,
}
shown!(Keeper<'_> { first, rest });

fn structs() {
    by_ref!(take_unit, Unit, Unit);
    by_ref!(take_pair, Pair, Pair(3, "three".into()));
    by_value!(take_pair_value, Pair, Pair(4, "four".into()));
    by_ref!(take_newtype, Meters, Meters(2.5));
    by_value!(take_newtype_value, Meters, Meters(-0.5));
    by_ref!(take_generic, Generic<Vec<u8>>, Generic { inner: vec![1, 2], marker: PhantomData });
    by_ref!(take_generic_str, Generic<&'static str>, Generic { inner: "in", marker: PhantomData });
    make!(make_pair, Pair, Pair(5, "five".into()));
    make!(make_generic, Generic<Option<String>>, Generic { inner: Some("made".into()), marker: PhantomData });
}

fn enums() {
    by_value!(take_color, Color, Color::Green);
    by_ref!(take_color_ref, Color, Color::Blue);
    by_ref!(take_colors, Vec<Color>, vec![Color::Red, Color::Blue]);
    by_ref!(take_shape_dot, Shape, Shape::Dot);
    by_ref!(take_shape_circle, Shape, Shape::Circle(1.25));
    by_ref!(take_shape_line, Shape, Shape::Line(3, -4));
    by_ref!(take_shape_rect, Shape, Shape::Rect { w: 3, h: 4, name: "r".into() });
    by_value!(take_shape_value, Shape, Shape::Rect { w: 1, h: 2, name: "moved".into() });
    by_ref!(take_shapes, Vec<Shape>, vec![Shape::Dot, Shape::Circle(0.5), Shape::Line(1, 2)]);
    by_ref!(take_niche_words, Niche, Niche::Words("words".into()));
    by_ref!(take_niche_nothing, Niche, Niche::Nothing);
    by_value!(take_niche_ended, Niche, Niche::Ended);
    by_ref!(take_tree, Tree<i32>, node(node(Tree::Leaf, 1, Tree::Leaf), 2, node(Tree::Leaf, 3, Tree::Leaf)));
    by_ref!(take_tree_strings, Tree<String>, node(Tree::Leaf, "root".to_string(), Tree::Leaf));
    by_ref!(take_left, Either<u8, String>, Either::Left(8));
    by_ref!(take_right, Either<u8, String>, Either::Right { value: "right".into() });
    by_value!(take_either_value, Either<Vec<u8>, bool>, Either::Left(vec![1]));
    by_ref!(take_option_shape, Option<Shape>, Some(Shape::Circle(3.5)));
    by_ref!(take_option_shape_none, Option<Shape>, None);
    by_ref!(take_option_color, Option<Color>, Some(Color::Red));
    make!(make_color, Color, Color::Red);
    make!(make_shape, Shape, Shape::Line(7, 8));
    make!(make_niche, Niche, Niche::Nothing);
    make!(make_either, Either<u8, u64>, Either::Right { value: 1 << 40 });
}

fn objects() {
    let dog = Dog { name: "Rex".into(), age: 7 };
    by_value!(take_dyn, &dyn Animal, &dog);
    by_value!(take_dyn_tuple, &dyn Animal, &Bird(300));
    by_value!(take_dyn_box, Box<dyn Animal>, Box::new(Dog { name: "Fido".into(), age: 2 }));
    by_ref!(take_dyn_box_ref, Box<dyn Animal>, Box::new(Bird(9)));
    by_ref!(take_dyn_rc, Rc<dyn Animal>, Rc::new(Bird(11)));
    by_ref!(take_dyn_empty, Box<dyn Animal>, Box::new(Ghost));
    by_ref!(take_dyn_vec, Vec<Box<dyn Animal>>, vec![Box::new(Bird(1)), Box::new(Dog { name: "A".into(), age: 1 }), Box::new(Bird(2))]);
    by_ref!(take_keeper, Keeper, Keeper { first: &dog, rest: vec![Box::new(Bird(5))] });
    make!(make_dyn, Box<dyn Animal>, Box::new(Bird(77)));
    let many: Vec<Box<dyn Animal>> = vec![Box::new(Bird(1)), Box::new(Ghost)];
    std::hint::black_box(many.iter().map(|a| a.legs()).sum::<u32>());
}

#[inline(never)]
fn take_closure_moved<F: Fn() -> i32>(v: &F) {
    std::hint::black_box((v(), line!()));
}
#[inline(never)]
fn take_closure_borrowed<F: Fn() -> i32>(v: &F) {
    std::hint::black_box((v(), line!()));
}
#[inline(never)]
fn take_closure_value<F: FnOnce() -> usize>(v: F) {
    std::hint::black_box((v(), line!()));
}
/// Captured is shown as a closure that has them is.
struct Captured<B, N> {
    base: B,
    name: N,
}
impl<B: Want, N: Want> Want for Captured<B, N> {
    fn want(&self, o: &mut Out) {
        o.raw("{\"base\":");
        self.base.want(o);
        o.raw(",\"name\":");
        self.name.want(o);
        o.raw("}");
    }
}
struct List {
    list: Vec<u8>,
}
shown!(List { list });

fn closures() {
    let (base, name) = (10 + std::env::args().count() as i32, String::from("captured"));
    want::expect("take_closure_moved", "v", &Captured { base, name: name.clone() }, true);
    let moved = { let name = name.clone(); move || base + name.len() as i32 };
    take_closure_moved(&moved);
    want::expect("take_closure_borrowed", "v", &Captured { base: &base, name: &name }, true);
    take_closure_borrowed(&|| base * 2 + name.len() as i32);
    let list = vec![1u8, 2, 3];
    want::expect("take_closure_value", "v", &List { list: list.clone() }, false);
    take_closure_value(move || list.len());
}

struct Link {
    id: u32,
    next: Option<Box<Link>>,
}
shown!(Link { id, next });
fn chain(n: u32) -> Option<Box<Link>> {
    if n == 0 { None } else { Some(Box::new(Link { id: n, next: chain(n - 1) })) }
}

struct Level<T> {
    id: u8,
    below: T,
}
impl<T: Want> Want for Level<T> {
    fn want(&self, o: &mut Out) {
        o.raw(&format!("{{\"id\":{},\"below\":", self.id));
        self.below.want(o);
        o.raw("}");
    }
}

struct Peer {
    id: i32,
    name: String,
    peers: Vec<Rc<RefCell<Peer>>>,
    first: Weak<RefCell<Peer>>,
}
shown!(Peer { id, name, peers, first });
fn peer(id: i32) -> Rc<RefCell<Peer>> {
    Rc::new(RefCell::new(Peer { id, name: format!("p{}", id), peers: Vec::new(), first: Weak::new() }))
}

struct Ring<'a> {
    id: i32,
    next: Cell<Option<&'a Ring<'a>>>,
}
shown!(Ring<'_> { id, next });

fn graphs() {
    by_value!(take_chain_1, Option<Box<Link>>, chain(1));
    by_value!(take_chain_5, Option<Box<Link>>, chain(5));
    by_value!(take_chain_6, Option<Box<Link>>, chain(6));
    by_value!(take_chain_9, Option<Box<Link>>, chain(9));
    by_ref!(take_chain_ref_9, Link, *chain(9).unwrap());
    by_ref!(take_levels, Level<Box<Level<Rc<Level<Arc<Level<&'static u64>>>>>>>,
        Level { id: 1, below: Box::new(Level { id: 2, below: Rc::new(Level { id: 3, below: Arc::new(Level { id: 4, below: &99 }) }) }) });
    let a = peer(1);
    a.borrow_mut().peers.push(Rc::clone(&a));
    by_ref!(take_cycle_self, Rc<RefCell<Peer>>, Rc::clone(&a));
    let (b, c) = (peer(2), peer(3));
    b.borrow_mut().peers.push(Rc::clone(&c));
    c.borrow_mut().peers.push(Rc::clone(&b));
    c.borrow_mut().first = Rc::downgrade(&b);
    by_ref!(take_cycle_two, Rc<RefCell<Peer>>, Rc::clone(&b));
    by_value!(take_cycle_value, Rc<RefCell<Peer>>, Rc::clone(&c));
    let (top, left, right, shared) = (peer(4), peer(5), peer(6), peer(7));
    for side in [&left, &right] {
        side.borrow_mut().peers.push(Rc::clone(&shared));
        side.borrow_mut().first = Rc::downgrade(&top);
    }
    top.borrow_mut().peers = vec![Rc::clone(&left), Rc::clone(&right)];
    by_ref!(take_diamond, Rc<RefCell<Peer>>, Rc::clone(&top));
    let (x, y) = (Ring { id: 1, next: Cell::new(None) }, Ring { id: 2, next: Cell::new(None) });
    x.next.set(Some(&y));
    y.next.set(Some(&x));
    {
        #[inline(never)]
        fn take_ring(v: &Ring) {
            std::hint::black_box((v, line!()));
        }
        want::expect("take_ring", "v", &x, true);
        take_ring(&x);
    }
    by_ref!(take_graph_map, HashMap<String, Rc<RefCell<Peer>>>, [("b".to_string(), Rc::clone(&b))].into());
    for p in [&a, &b, &c] {
        p.borrow_mut().peers.clear();
    }
}

/// Bad is an error of the program's own.
#[derive(Debug)]
struct Bad {
    code: i32,
    what: String,
}
shown!(Bad { code, what });
impl std::fmt::Display for Bad {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} {}", self.code, self.what)
    }
}
impl Error for Bad {}

impl Want for dyn Error + Send + Sync {
    fn want(&self, o: &mut Out) {
        let at = self as *const Self as *const u8 as usize;
        let bad = self.downcast_ref::<Bad>();
        o.raw("{\"type\":");
        o.quoted(if bad.is_some() { std::any::type_name::<Bad>() } else { "StringError" });
        o.raw(",\"value\":");
        o.follow(at, |o| match bad {
            Some(b) => b.want(o),
            None => o.words(&self.to_string()),
        });
        o.raw("}");
    }
}
impl Want for io::Error {
    fn want(&self, o: &mut Out) {
        if let Some(n) = self.raw_os_error() {
            return o.quoted(&format!("{} (os error {})", if n == 2 { "ENOENT" } else { "EACCES" }, n));
        }
        let kind = format!("{:?}", self.kind());
        let inner = self.get_ref();
        if inner.is_none() && self.to_string() != "failed to fill whole buffer" {
            return o.quoted(&kind);
        }
        o.follow(1, |o| {
            o.raw("{\"kind\":");
            o.quoted(&kind);
            o.raw(if inner.is_some() { ",\"error\":" } else { ",\"message\":" });
            match inner {
                Some(e) => e.want(o),
                None => o.words(&self.to_string()),
            }
            o.raw("}");
        });
    }
}

fn errors() {
    type Any = Box<dyn Error + Send + Sync>;
    let bad = |code| Bad { code, what: "worse".into() };
    by_ref!(take_error_text, Any, "plain text".into());
    by_value!(take_error_string, Any, format!("made {}", 5).into());
    by_value!(take_error_own, Any, Box::new(bad(3)));
    make!(make_error, Any, "made".into());
    by_value!(take_error_result, Result<u8, Any>, Err("in a result".into()));
    by_ref!(take_io_os, io::Error, io::Error::from_raw_os_error(2));
    by_value!(take_io_os_value, io::Error, io::Error::from_raw_os_error(13));
    by_ref!(take_io_kind, io::Error, io::ErrorKind::NotFound.into());
    by_value!(take_io_kind_value, io::Error, io::ErrorKind::UnexpectedEof.into());
    by_ref!(take_io_message, io::Error, io::Read::read_exact(&mut &b""[..], &mut [0u8; 4]).unwrap_err());
    by_ref!(take_io_custom, io::Error, io::Error::new(io::ErrorKind::Other, bad(4)));
    by_value!(take_io_text, io::Error, io::Error::new(io::ErrorKind::InvalidData, "odd data"));
    make!(make_io, io::Result<u32>, Err(io::Error::from_raw_os_error(2)));
}

fn main() {
    errors();
    structs();
    enums();
    objects();
    closures();
    graphs();
}
