struct Countdown {
    n: u32,
}

impl Iterator for Countdown {
    type Item = u32;
    fn next(&mut self) -> Option<u32> {
        if self.n == 0 {
            return None;
        }
        self.n -= 1;
        Some(self.n)
    }
}

#[inline(never)]
fn total(it: impl Iterator<Item = u32>) -> u32 {
    let mut sum = 0;
    for n in it {
        sum += n;
    }
    sum
}

#[inline(never)]
fn apply<F: FnMut(u32) -> u32>(mut f: F, n: u32) -> u32 {
    let once = f(n);
    f(once)
}

#[inline(never)]
fn boxed(n: u32) -> Box<dyn Fn(u32) -> u32> {
    Box::new(move |x| x * n)
}

fn main() {
    let a = total(Countdown { n: 3 });
    let mut calls = 0;
    let b = apply(
        |n| {
            calls += 1;
            n + 10
        },
        1,
    );
    let times = boxed(4);
    let c = times(5);
    let d: u32 = (0..2).map(|n| n + a).sum();
    let mut squares = [0u32; 2];
    for (i, s) in squares.iter_mut().enumerate() {
        *s = (i * i) as u32;
    }
    if a + b + c + d + calls + squares[1] != 54 {
        std::process::exit(1);
    }
}
