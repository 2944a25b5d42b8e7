// Rust panics through ten frames into catch_unwind, with drops counted, in four threads, and resumed.
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

thread_local!(static DROPS: Cell<u64> = const { Cell::new(0) });

struct Guard(#[allow(dead_code)] u32);
impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        DROPS.with(|d| d.set(d.get() + 1));
    }
}

#[inline(never)]
fn deep(n: u32, kind: u32) -> u32 {
    let g = Guard(n);
    if n == 0 {
        match kind {
            0 => panic!("at the bottom"),
            1 => {
                let v: Vec<u32> = Vec::new();
                return v[std::hint::black_box(3)];
            }
            2 => panic::panic_any(99u64),
            _ => return 5,
        }
    }
    let r = deep(n - 1, kind) + n;
    drop(g);
    r
}

#[inline(never)]
fn relay(kind: u32) -> u32 {
    match panic::catch_unwind(|| deep(10, kind)) {
        Ok(v) => v,
        Err(e) => panic::resume_unwind(e),
    }
}

fn run(rounds: u32) -> (u64, u64) {
    let mut sum = 0u64;
    for i in 0..rounds {
        sum += match panic::catch_unwind(AssertUnwindSafe(|| relay(i % 4))) {
            Ok(v) => v as u64,
            Err(e) => match e.downcast_ref::<u64>() {
                Some(v) => *v,
                None => 1000,
            },
        };
    }
    (sum, DROPS.with(|d| d.get()))
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let rounds: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(200);
    let alone = run(rounds);
    let threads: Vec<_> = (0..4).map(|_| thread::spawn(move || run(rounds))).collect();
    let same = threads.into_iter().all(|t| t.join().unwrap() == alone);
    println!("rounds={} sum={} drops={} same={}", rounds, alone.0, alone.1, same);
    std::process::exit(if same && alone.1 == rounds as u64 * 11 { 0 } else { 1 });
}
