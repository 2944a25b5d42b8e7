#[test]
fn orders() {}
