// As vars.c, of Rust.
use std::io::Read;
use std::rc::Rc;

#[derive(Clone, Copy, PartialEq)]
#[repr(i16)]
pub enum Level { Low = -1, High = 7 }

pub enum Shape { Empty, Circle(i32), Rect { w: u8, h: i64 } }
pub struct Point { pub x: i32, pub y: i32, pub pair: (u8, i64) }
pub struct Node { pub name: String, pub tag: &'static str, pub next: Option<Box<Node>>, pub at: Point, pub level: Level }

macro_rules! vars {
    ($($name:ident : $t:ty),*) => {
        #[inline(never)]
        #[no_mangle]
        pub fn probe($($name: &$t),*) -> usize { 0usize $(+ $name as *const $t as usize % 2)* }
        fn print($($name: &$t),*) { $(println!("{} {:p}", stringify!($name), $name);)* println!("end"); }
    };
}
vars!(node: Node, num: i32, byte: u8, big: u64, wide: u128, ch: char, flag: bool, f: f64, text: &'static str, owned: String, none: String,
    v: Vec<i32>, points: Vec<Point>, slice: &'static [u16], arr: [i64; 3], boxed: Box<Point>, counted: Rc<Point>, tuple: (i32, (u8, bool)),
    link: &'static i32, level: Level, strs: Vec<String>, some: Option<i32>, nope: Option<i32>, next: Option<Box<Point>>, last: Option<Box<Point>>,
    circle: Shape, rect: Shape, hollow: Shape, fine: Result<u8, String>, bad: Result<u8, String>, ord: Option<Option<bool>>);

static SEVEN: i32 = 7;

fn main() {
    let node = Node { name: String::from("root"), tag: "a tag", next: None, at: Point { x: 3, y: -4, pair: (9, -10) }, level: Level::High };
    let v = vec![2, 3, 5, 7];
    let points = vec![Point { x: 1, y: 2, pair: (3, 4) }, Point { x: 5, y: 6, pair: (7, 8) }];
    let strs = vec![String::from("uno"), String::from("dos")];
    let (some, nope, ord) = (Some(-12), None, Some(None));
    let (next, last) = (Some(Box::new(Point { x: 70, y: 71, pair: (72, 73) })), None);
    let (circle, rect, hollow) = (Shape::Circle(5), Shape::Rect { w: 6, h: -7 }, Shape::Empty);
    let (fine, bad): (Result<u8, String>, Result<u8, String>) = (Ok(8), Err(String::from("broken")));
    let owned = String::from("owned text");
    let none = String::new();
    let boxed = Box::new(Point { x: 30, y: 40, pair: (50, 60) });
    let counted = Rc::new(Point { x: 31, y: 41, pair: (51, 61) });
    let big = u64::MAX;
    let wide = (1u128 << 64) + 6;
    let slice: &'static [u16] = &[10, 20, 30];
    print(&node, &-5, &200, &big, &wide, &'é', &true, &0.1, &"static text", &owned, &none, &v, &points, &slice, &[-1, -2, -3], &boxed,
        &counted, &(1, (2, true)), &&SEVEN, &Level::Low, &strs, &some, &nope, &next, &last,
        &circle, &rect, &hollow, &fine, &bad, &ord);
    let mut b = [0u8; 1];
    let _ = std::io::stdin().read(&mut b);
    std::process::exit(probe(&node, &-5, &200, &big, &wide, &'é', &true, &0.1, &"static text", &owned, &none, &v, &points, &slice,
        &[-1, -2, -3], &boxed, &counted, &(1, (2, true)), &&SEVEN, &Level::Low, &strs, &some, &nope, &next, &last,
        &circle, &rect, &hollow, &fine, &bad, &ord) as i32);
}
