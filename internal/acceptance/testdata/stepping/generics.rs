use std::fmt::Debug;
use std::ops::Add;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Vec2<T> {
    x: T,
    y: T,
}

impl<T: Add<Output = T>> Add for Vec2<T> {
    type Output = Vec2<T>;
    fn add(self, o: Vec2<T>) -> Vec2<T> {
        Vec2 { x: self.x + o.x, y: self.y + o.y }
    }
}

trait Named {
    const ID: u32;
    fn name(&self) -> &'static str;
    fn length(&self) -> usize {
        let n = self.name();
        n.len()
    }
}

struct Dog;
struct Cat {
    lives: u8,
}

impl Named for Dog {
    const ID: u32 = 1;
    fn name(&self) -> &'static str {
        "dog"
    }
}

impl Named for Cat {
    const ID: u32 = 2;
    fn name(&self) -> &'static str {
        if self.lives > 1 { "cat" } else { "tired cat" }
    }
    fn length(&self) -> usize {
        self.lives as usize
    }
}

#[inline(never)]
fn describe<N: Named>(n: &N) -> u32 {
    let size = n.length() as u32;
    size * 10 + N::ID
}

#[inline(never)]
fn largest<T: PartialOrd + Copy>(v: &[T]) -> T {
    let mut best = v[0];
    let mut i = 1;
    while i < v.len() {
        if v[i] > best {
            best = v[i];
        }
        i += 1;
    }
    best
}

fn main() {
    let v = Vec2 { x: 1, y: 2 } + Vec2 { x: 3, y: 4 };
    let f = Vec2 { x: 0.5, y: 1.5 } + Vec2 { x: 1.0, y: 1.0 };
    let d = describe(&Dog) + describe(&Cat { lives: 9 });
    let i = largest(&[3, 9, 4]);
    let c = largest(&['a', 'z']);
    if v.x + v.y != 10 || f.y != 2.5 || d != 123 || i != 9 || c != 'z' {
        std::process::exit(1);
    }
}
