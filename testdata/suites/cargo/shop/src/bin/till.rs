fn main() {
    println!("till");
}

#[test]
fn in_a_binary() {}

#[test]
fn passes() {}
