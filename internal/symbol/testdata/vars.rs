// Statics and thread-locals of Rust for the symbol tests.
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

pub static COUNT: AtomicU64 = AtomicU64::new(7);
static mut RAW: [u32; 4] = [1, 2, 3, 4];
mod inner {
    pub static NAME: &str = "abc";
    pub struct Pair {
        pub x: i32,
        pub y: Option<u8>,
    }
    pub enum Shape {
        Dot,
        Line(u32),
    }
    pub static mut PAIR: Pair = Pair { x: 4, y: None };
    pub static mut SHAPE: Shape = Shape::Dot;
}
thread_local! {
    static DEPTH: Cell<u32> = Cell::new(9);
    static TEXT: RefCell<String> = RefCell::new(String::from("x"));
}

#[inline(never)]
fn bump() -> u32 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    CALLS.fetch_add(1, Ordering::SeqCst) as u32
}

fn main() {
    COUNT.fetch_add(1, Ordering::SeqCst);
    let args: Vec<u64> = std::env::args().map(|a| a.len() as u64).collect();
    unsafe {
        RAW[args.len() % 4] = 5;
        inner::PAIR.x = bump() as i32;
        inner::PAIR.y = Some(args[0] as u8);
        if args.len() == 1 {
            std::ptr::write_volatile(std::ptr::addr_of_mut!(inner::SHAPE), inner::Shape::Line(3));
        }
        let line = match &*std::ptr::addr_of!(inner::SHAPE) {
            inner::Shape::Dot => 0,
            inner::Shape::Line(n) => *n,
        };
        let p = std::ptr::addr_of!(inner::PAIR);
        println!("{} {} {:?} {}", *std::ptr::addr_of!(RAW[1]), (*p).x, (*p).y, line);
    }
    DEPTH.with(|d| d.set(3));
    TEXT.with(|t| println!("{} {} {}", t.borrow(), DEPTH.with(|d| d.get()), inner::NAME));
}
