use std::fmt::Display;

trait Shape {
    fn area(&self) -> u32;
}

struct Square(u32);

impl Shape for Square {
    fn area(&self) -> u32 {
        self.0 * self.0
    }
}

struct Pair {
    a: u32,
    b: u32,
}

impl Shape for Pair {
    fn area(&self) -> u32 {
        let product = self.a * self.b;
        product + 1
    }
}

#[inline(never)]
fn depth(n: u32) -> u32 {
    if n == 0 {
        return 1;
    }
    let below = depth(n - 1);
    below * 2
}

#[inline(never)]
fn classify(n: u32) -> &'static str {
    match n % 3 {
        0 => "zero",
        1 => {
            let name = "one";
            name
        }
        _ => "more",
    }
}

#[inline(never)]
fn total(shapes: &[Box<dyn Shape>]) -> u32 {
    let mut sum = 0;
    let mut i = 0;
    while i < shapes.len() {
        sum += shapes[i].area();
        i += 1;
    }
    sum
}

#[inline(never)]
fn show<T: Display>(what: T) -> usize {
    let text = 3;
    let _ = &what;
    text
}

fn main() {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(3)), Box::new(Pair { a: 2, b: 5 })];
    let sum = total(&shapes);
    let d = depth(2);
    let name = classify(d);
    let shown = show(sum) + show(name);
    let add = |n: u32| n + sum;
    let more = add(shown as u32);
    if more != 23 {
        std::process::exit(1);
    }
}
