use std::panic;

struct Noisy<'a>(&'a std::cell::Cell<u32>);

impl Drop for Noisy<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[inline(never)]
fn check(n: u32) -> u32 {
    if n > 1 {
        panic::resume_unwind(Box::new(n));
    }
    n
}

#[inline(never)]
fn guarded(n: u32, drops: &std::cell::Cell<u32>) -> u32 {
    let _noisy = Noisy(drops);
    let r = check(n);
    r + 1
}

fn main() {
    let drops = std::cell::Cell::new(0);
    let fine = guarded(1, &drops);
    let caught = panic::catch_unwind(panic::AssertUnwindSafe(|| guarded(2, &drops)));
    let code = match caught {
        Ok(n) => n,
        Err(_) => 40,
    };
    if fine + code + drops.get() != 44 {
        std::process::exit(1);
    }
}
