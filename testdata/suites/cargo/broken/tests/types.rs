#[test]
fn types() {
    let n: u32 = "text";
    missing(n);
}
