use std::collections::BTreeMap;
use std::collections::HashMap;

struct Order {
    id: u32,
    who: String,
    cents: Vec<u32>,
}

#[inline(never)]
fn total(o: &Order) -> u32 {
    let mut sum = 0;
    for c in &o.cents {
        sum += c;
    }
    sum
}

#[inline(never)]
fn longest<'a>(a: &'a str, b: &'a str) -> &'a str {
    if a.len() >= b.len() {
        a
    } else {
        b
    }
}

fn main() {
    let orders = vec![
        Order { id: 1, who: String::from("Hanna"), cents: vec![120, 80] },
        Order { id: 2, who: "Jo".to_string(), cents: Vec::new() },
    ];
    let mut by = HashMap::new();
    by.insert(orders[0].id, total(&orders[0]));
    by.insert(orders[1].id, total(&orders[1]));
    let mut sorted = BTreeMap::new();
    sorted.insert("x", 1u8);
    let name = longest(&orders[0].who, &orders[1].who);
    let size = name.len() as u32 + by[&1] + sorted["x"] as u32;
    if size != 206 {
        std::process::exit(1);
    }
}
