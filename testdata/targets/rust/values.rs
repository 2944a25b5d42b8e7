// Ordinary Rust: traits, generics, closures, enums with payload, Option and Result, strings and slices,
// iterators, Box, Rc, Arc, channels.
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Dot,
    Circle(f64),
    Rect { w: u32, h: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Point {
    x: i32,
    y: i32,
}

trait Area {
    fn area(&self) -> f64;
}
impl Area for Shape {
    #[inline(never)]
    fn area(&self) -> f64 {
        match self {
            Shape::Dot => 0.0,
            Shape::Circle(r) => r * r * 3.0,
            Shape::Rect { w, h } => (*w * *h) as f64,
        }
    }
}

#[inline(never)]
fn shape(i: u32) -> Shape {
    match i % 3 {
        0 => Shape::Dot,
        1 => Shape::Circle(i as f64),
        _ => Shape::Rect { w: i, h: 2 },
    }
}
#[inline(never)]
fn moved(p: Point, by: (i32, i32)) -> Point {
    Point { x: p.x + by.0, y: p.y - by.1 }
}
#[inline(never)]
fn half(n: u64) -> Option<u64> {
    if n % 2 == 0 { Some(n / 2) } else { None }
}
#[inline(never)]
fn parse(s: &str) -> Result<i64, std::num::ParseIntError> {
    s.trim().parse()
}
#[inline(never)]
fn sum(v: &[u16]) -> u32 {
    v.iter().map(|&x| x as u32).sum()
}
#[inline(never)]
fn largest<T: PartialOrd + Copy>(v: &[T]) -> T {
    let mut m = v[0];
    for &x in v {
        if x > m {
            m = x;
        }
    }
    m
}
#[inline(never)]
fn wide(a: i128, b: u128) -> i128 {
    a * 3 + b as i128
}
#[inline(never)]
fn greet(name: String, flag: bool, c: char) -> String {
    format!("{}{}{}", name, flag, c)
}
#[inline(never)]
fn total(shapes: &[Box<dyn Area>]) -> f64 {
    shapes.iter().map(|s| s.area()).sum()
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(300);
    let mut p = Point { x: 0, y: 0 };
    let (mut area, mut halves, mut numbers, mut text, mut big) = (0.0, 0u64, 0i64, 0usize, 1i128);
    let mut words: HashMap<String, u32> = HashMap::new();
    for i in 0..rounds {
        area += total(&[Box::new(shape(i)), Box::new(shape(i + 1))]);
        p = moved(p, (i as i32, 2));
        halves += half(i as u64).unwrap_or(1);
        numbers += parse(&format!(" {} ", i)).unwrap_or(0) + parse("no").unwrap_or(-1);
        let v: Vec<u16> = (0..20).map(|x| x * i as u16 % 97).collect();
        text += greet(format!("w{}", i % 10), i % 2 == 0, 'ß').len() + sum(&v) as usize;
        text += largest(&v) as usize + largest(&[1.5, 0.25]) as usize;
        big = wide(big, i as u128) % 1_000_000_007_000_003;
        *words.entry(format!("k{}", i % 7)).or_insert(0) += 1;
    }
    let sorted: BTreeMap<_, _> = words.into_iter().collect();
    let shared = Arc::new(Mutex::new(0u64));
    let (tx, rx) = mpsc::channel();
    let threads: Vec<_> = (0..4u64)
        .map(|k| {
            let (shared, tx) = (Arc::clone(&shared), tx.clone());
            thread::spawn(move || {
                for i in 0..100 {
                    *shared.lock().unwrap() += half(i * k).unwrap_or(0);
                    tx.send(i).unwrap();
                }
            })
        })
        .collect();
    drop(tx);
    let received: u64 = rx.iter().sum();
    for t in threads {
        t.join().unwrap();
    }
    let rc = Rc::new(sorted);
    println!("rounds={} area={} p={},{} halves={} numbers={} text={} big={} words={:?} shared={} received={}",
        rounds, area, p.x, p.y, halves, numbers, text, big, Rc::clone(&rc), shared.lock().unwrap(), received);
}
