use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

static STOP: AtomicBool = AtomicBool::new(false);
static TURNS: AtomicU32 = AtomicU32::new(0);

#[inline(never)]
fn work(n: u32) -> u32 {
    let r = n * 2;
    r + 1
}

fn spin() {
    while !STOP.load(Ordering::Relaxed) {
        TURNS.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() {
    let sum = Arc::new(Mutex::new(0));
    let a = thread::spawn(spin);
    let theirs = sum.clone();
    let b = thread::spawn(move || {
        let mut i = 0;
        while i < 20 {
            *theirs.lock().unwrap() += work(i);
            i += 1;
        }
    });
    let mine = work(1);
    let more = work(mine);
    b.join().unwrap();
    STOP.store(true, Ordering::Relaxed);
    a.join().unwrap();
    if mine + more + *sum.lock().unwrap() != 410 {
        std::process::exit(1);
    }
}
