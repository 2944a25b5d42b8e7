struct Order { name: String, prices: Vec<i64>, next: Option<Box<Order>> }
#[inline(never)]
fn look(order: &mut Order, by: i64) -> i64 {
    let n = order.prices[1] * by; // @look
    n + order.name.len() as i64
}
fn main() {
    let next = Some(Box::new(Order { name: "next".to_string(), prices: vec![], next: None }));
    let mut order = Order { name: "größer 世界".to_string(), prices: vec![10, 20, 30], next };
    println!("{}", look(&mut order, 2));
    if order.next.is_some() { panic!("no more"); }
}
