// Names and types of Rust for the symbol tests.
use std::fmt;
pub struct Point<T> { pub x: T, pub y: T }
pub enum Shape { Empty, Circle { r: f64 }, Rect(u32, u32), Named(String) }
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Level { Low = 1, High = 200 }
impl<T: fmt::Display> fmt::Display for Point<T> {
    #[inline(never)]
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result { write!(f, "{} {}", self.x, self.y) }
}
impl<T: Copy> Point<T> {
    #[inline(never)]
    pub fn first(&self) -> T { self.x }
}
pub mod inner {
    #[inline(never)]
    pub fn go(a: i32, s: &str, v: &[u16], o: Option<u32>, b: Box<i64>, w: u128, c: char) -> i64 {
        let f = |n: i32| a + n;
        i64::from(f(2)) + s.len() as i64 + v.len() as i64 + i64::from(o.unwrap_or(1)) + *b + w as i64 + c as i64
    }
    pub trait Area { fn area(&self) -> f64; }
    impl Area for super::Shape {
        #[inline(never)]
        fn area(&self) -> f64 {
            match self { super::Shape::Circle { r } => *r, super::Shape::Rect(a, b) => f64::from(*a * *b), _ => 0.0 }
        }
    }
}
#[inline(never)]
fn level(l: Level, p: (u8, u64)) -> Result<Level, String> { if p.0 > 3 { Err("x".into()) } else { Ok(l) } }
fn main() {
    use inner::Area;
    let p = Point { x: 1, y: 2 };
    println!("{} {} {}", p, p.first(), inner::go(3, "abc", &[1, 2], Some(4), Box::new(5), 6, 'x'));
    for s in [Shape::Empty, Shape::Circle { r: 2.0 }, Shape::Rect(2, 3), Shape::Named("n".into())] { println!("{}", s.area()); }
    println!("{:?}", level(Level::High, (1, 2)));
}
