#[test]
fn exits() {
    eprintln!("captured: is not seen");
    std::process::exit(5);
}
