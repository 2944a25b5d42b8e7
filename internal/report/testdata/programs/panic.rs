// How Rust programs panic.
use std::cell::RefCell;
use std::collections::HashMap;
use std::thread;

struct Guard;
impl Drop for Guard {
    fn drop(&mut self) {
        panic!("in drop");
    }
}
#[derive(Debug)]
#[allow(dead_code)]
struct Failure {
    code: i32,
    why: &'static str,
}
fn index(v: &[i32], i: usize) -> i32 {
    v[i]
}
fn add(a: i32, b: i32) -> i32 {
    a + b
}
extern "C" fn no_unwind() {
    panic!("out of a C function");
}
fn depth(n: u64) -> u64 {
    let a = [n; 64];
    if n == u64::MAX { 0 } else { depth(n + 1) + a[(n % 64) as usize] }
}

fn main() {
    let what = std::env::args().nth(1).unwrap_or_default();
    let n = std::env::args().count();
    match what.as_str() {
        "panic" => panic!("the ledger is closed"),
        "lines" => panic!("first line\nsecond line\n\nfourth: {}", n),
        "empty" => panic!("{}", ""),
        "index" => drop(index(&[1, 2, 3], n + 5)),
        "overflow" => drop(add(i32::MAX, n as i32)),
        "divide" => println!("{}", 1 / (n - 2)),
        "unwrap-none" => { let m: HashMap<i32, i32> = HashMap::new(); println!("{}", m.get(&1).unwrap()); }
        "unwrap-err" => { let r: Result<i32, Failure> = Err(Failure { code: 3, why: "no route" }); println!("{}", r.unwrap()); }
        "expect" => { std::fs::read("/no/such/file").expect("reading the config"); }
        "pretty" => { let r: Result<i32, Failure> = Err(Failure { code: 3, why: "no route" }); if let Err(e) = r { panic!("{:#?}", e); } }
        "borrow" => { let c = RefCell::new(1); let _a = c.borrow_mut(); let _b = c.borrow_mut(); }
        "assert" => assert!(n == 77, "n is {}", n),
        "assert-eq" => assert_eq!(n, 77),
        "assert-eq-message" => assert_eq!(n, 77, "counting {}\nand more", n),
        "unreachable" => unreachable!(),
        "unimplemented" => unimplemented!("later"),
        "utf8" => println!("{}", &"äöü"[1..2 + n]),
        "slice" => println!("{:?}", &[1, 2, 3][n + 2..]),
        "thread" => { let _ = thread::Builder::new().name("worker-1".into()).spawn(|| panic!("in a thread")).unwrap().join(); println!("joined"); }
        "unnamed" => { let _ = thread::spawn(|| panic!("in an unnamed thread")).join(); }
        "join" => thread::spawn(|| panic!("inner")).join().unwrap(),
        "caught" => { let _ = std::panic::catch_unwind(|| panic!("caught")); eprintln!("goes on"); }
        "nested" => { let _g = Guard; panic!("outer"); }
        "no-unwind" => no_unwind(),
        "any" => std::panic::panic_any(7),
        "stack" => println!("{}", depth(0)),
        "oom" => { let v: Vec<u8> = Vec::with_capacity(1 << 46); println!("{}", v.len()); }
        "abort" => std::process::abort(),
        "main-error" => std::process::exit(match Err::<(), _>(Failure { code: 1, why: "x" }) { Err(e) => { eprintln!("Error: {:?}", e); 1 } Ok(()) => 0 }),
        _ => {}
    }
}
