use std::collections::HashMap;

struct Order { id: u32, lines: Vec<u32> }

#[inline(never)]
fn price(map: &HashMap<u32, u32>, id: u32) -> u32 {
    *map.get(&id).expect("no price")
}

#[inline(always)]
fn each<F: Fn(u32) -> u32>(o: &Order, f: F) -> u32 {
    o.lines.iter().map(|&l| f(l)).sum::<u32>() + o.id
}

#[inline(never)]
fn total(o: &Order, map: &HashMap<u32, u32>) -> u32 {
    each(o, |l| price(map, l) * 2)
}

#[inline(never)]
fn wild(p: *mut u32, n: u32) -> u32 {
    unsafe { std::ptr::write_volatile(p, n); }
    n + 1
}

fn main() {
    let kind = std::env::args().nth(1).unwrap_or_default();
    let mut map = HashMap::new();
    map.insert(1, 10);
    map.insert(2, 20);
    let o = Order { id: 7, lines: vec![1, 2, 3] };
    let r = match kind.as_str() {
        "wild" => wild(8 as *mut u32, o.id),
        "index" => { let v = &o.lines; v[map.len() + 5] }
        _ => total(&o, &map),
    };
    println!("{r}");
}
