// Objects of library types whose memory is not theirs: numbers, addresses of each other, of nothing, of what cannot be read.
// The program does not look at them. What a tracer shows of them must end, and harm nothing.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::fmt::Debug;
use std::mem::{size_of, MaybeUninit};
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    /// word is one word of a broken object: often an address inside the pool.
    fn word(&mut self, pool: usize, words: usize) -> u64 {
        let n = self.next();
        match n % 16 {
            0 => 0,
            1 => u64::MAX,
            2 => n >> 4,
            3 => 0xffff_8000_0000_0000 | n >> 20,
            4 => 0x1000 + (n >> 40),
            5 => (n >> 4) % 8 << 60,
            6 | 7 => (n >> 4) % 1000,
            8 | 9 => (n >> 4) % 12,
            _ => (pool + (n >> 4) as usize % (words * 8)) as u64 & if n >> 60 < 14 { !7 } else { !0 },
        }
    }
}

macro_rules! broken {
    ($random:ident, $pool:ident, $rounds:ident; $($name:ident: $ty:ty;)*) => { $(
        #[inline(never)]
        fn $name(v: &$ty) {
            std::hint::black_box((v as *const $ty, stringify!($name)));
        }
        for _ in 0..$rounds {
            let mut object = MaybeUninit::<$ty>::uninit();
            let at = object.as_mut_ptr() as *mut u64;
            for i in 0..(size_of::<$ty>() + 7) / 8 {
                unsafe { at.add(i).write_unaligned($random.word($pool.as_ptr() as usize, $pool.len())) };
            }
            $name(unsafe { &*object.as_ptr() });
            for _ in 0..64 {
                let i = $random.next() as usize % $pool.len();
                $pool[i] = $random.word($pool.as_ptr() as usize, $pool.len());
            }
        }
    )* };
}

#[repr(align(8))]
#[allow(dead_code)]
struct Node {
    name: String,
    next: Option<Rc<RefCell<Node>>>,
    up: Weak<RefCell<Node>>,
    seen: HashSet<u16>,
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(100);
    let mut random = Random(std::env::args().nth(2).and_then(|a| a.parse().ok()).unwrap_or(0x9e3779b97f4a7c15));
    let mut pool = vec![0u64; 4096];
    let (at, n) = (pool.as_ptr() as usize, pool.len());
    pool.iter_mut().for_each(|w| *w = random.word(at, n));
    broken! { random, pool, rounds;
        take_string: String;
        take_str: &str;
        take_vec: Vec<u64>;
        take_vec_strings: Vec<String>;
        take_vec_nested: Vec<Vec<Vec<u8>>>;
        take_deque: VecDeque<String>;
        take_list: LinkedList<u32>;
        take_hashmap: HashMap<String, Vec<i32>>;
        take_hashset: HashSet<u64>;
        take_btreemap: BTreeMap<String, u32>;
        take_btreeset: BTreeSet<u64>;
        take_option: Option<String>;
        take_result: Result<Box<Vec<String>>, Rc<str>>;
        take_rc: Rc<RefCell<Node>>;
        take_weak: Weak<Node>;
        take_node: Node;
        take_arc: Arc<Mutex<BTreeMap<u8, Box<str>>>>;
        take_dyn: Box<dyn Debug>;
        take_rc_dyn: Rc<dyn Debug>;
        take_rc_slice: Rc<[String]>;
    }
    println!("{} rounds", rounds);
    let shown: Vec<Box<dyn Debug>> = vec![Box::new(1u8), Box::new(String::from("kept"))]; // so that there are vtables
    std::hint::black_box(&shown);
}
