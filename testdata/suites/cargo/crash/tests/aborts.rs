#[test]
fn aborts() {
    std::process::abort();
}
