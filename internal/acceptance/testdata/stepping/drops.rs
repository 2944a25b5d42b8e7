use std::cell::Cell;
use std::rc::Rc;

struct Tracked<'a> {
    id: u32,
    log: &'a Cell<u32>,
}

impl Drop for Tracked<'_> {
    fn drop(&mut self) {
        let before = self.log.get();
        self.log.set(before * 10 + self.id);
    }
}

#[inline(never)]
fn scopes(log: &Cell<u32>) -> u32 {
    let _a = Tracked { id: 1, log };
    {
        let _b = Tracked { id: 2, log };
        log.set(log.get() + 1);
    }
    let c = Tracked { id: 3, log };
    drop(c);
    log.get()
}

#[inline(never)]
fn early(log: &Cell<u32>, stop: bool) -> u32 {
    let t = Tracked { id: 4, log };
    if stop {
        return t.id;
    }
    t.id * 2
}

#[inline(never)]
fn shared() -> usize {
    let a = Rc::new(5);
    let b = Rc::clone(&a);
    let n = Rc::strong_count(&b);
    n + *a
}

fn main() {
    let log = Cell::new(0);
    let a = scopes(&log);
    let b = early(&log, true) + early(&log, false);
    let c = shared();
    if a != 123 || b != 12 || c != 7 || log.get() != 123144 {
        std::process::exit(1);
    }
}
