// As faults.c, of Rust.
use std::cell::RefCell;
use std::hint::black_box;

#[inline(never)]
fn unwrap_none(index: i32) {
    let seen = black_box(index);
    let none: Option<i32> = black_box(None);
    println!("{}", black_box(&seen) + none.unwrap()); //@ unwrap: unwrap-none seen=42
}
#[inline(never)]
fn out_of_bounds(index: usize) {
    let list = black_box(vec![1, 2, 3]);
    println!("{}", list[index]); //@ index: index-out-of-bounds index=42
}
#[inline(never)]
fn overflow(index: i32) {
    let most = black_box(i32::MAX);
    println!("{}", most.checked_add(index).expect("sum fits")); //@ expect: panic index=42
}
#[inline(never)]
fn divide(index: i32) {
    let by = black_box(0);
    println!("{}", index / by); //@ divide: division-by-zero index=42
}
#[inline(never)]
fn borrowed(index: i32) {
    let cell = black_box(RefCell::new(index));
    let _first = cell.borrow_mut();
    println!("{}", cell.borrow_mut()); //@ borrow: already-borrowed index=42
}
#[inline(never)]
fn own_message(index: i32) {
    let seen = black_box(index);
    panic!("no stock of item {}", seen); //@ message: panic seen=42
}
#[inline(never)]
fn recurse(index: u64, level: u64) -> u64 { let room = black_box([index; 32]); room[(level & 31) as usize] + recurse(index, level + 1) + level } //@ overflow: stack-overflow index=42
#[inline(never)]
fn null(index: i32) {
    let p: *mut i32 = black_box(std::ptr::null_mut());
    unsafe { *p = index }; //@ null,null-thread,caught-then-null: null-pointer index=42
    println!("{}", index);
}
#[inline(never)]
fn aborts(index: i32) {
    let seen = black_box(index);
    if black_box(&seen) == &42 {
        std::process::abort(); //@ abort,caught-then-abort: abort seen=42
    }
}
#[inline(never)]
fn thread(index: i32) {
    std::thread::Builder::new().name("worker".into()).spawn(move || null(index)).unwrap().join().unwrap();
}
#[inline(never)]
fn lives_joined(index: i32) {
    let r = std::thread::spawn(move || own_message(index)).join();
    println!("survived {}", r.is_err());
}
#[inline(never)]
fn lives_caught(index: i32) {
    let r = std::panic::catch_unwind(|| own_message(index));
    println!("survived {}", r.is_err());
}
#[inline(never)]
fn caught_then_abort(index: i32) {
    lives_caught(index);
    aborts(index);
}
#[inline(never)]
fn caught_then_null(index: i32) {
    lives_caught(index);
    null(index);
}

fn run(way: &str, level: i32) {
    if level > 0 {
        run(way, level - 1);
        black_box(level);
        return;
    }
    match way {
        "unwrap" => unwrap_none(42),
        "index" => out_of_bounds(42),
        "expect" => overflow(42),
        "divide" => divide(42),
        "borrow" => borrowed(42),
        "message" => own_message(42),
        "overflow" => println!("{}", recurse(42, 0)),
        "null" => null(42),
        "abort" => aborts(42),
        "null-thread" => thread(42),
        "lives-joined" => lives_joined(42),
        "lives-caught" => lives_caught(42),
        "caught-then-abort" => caught_then_abort(42),
        "caught-then-null" => caught_then_null(42),
        _ => std::process::exit(99),
    }
}

fn main() {
    println!("begins");
    run(&std::env::args().nth(1).unwrap(), 2);
}
