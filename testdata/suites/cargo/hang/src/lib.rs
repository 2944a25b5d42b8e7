#[test]
fn a_before() {}

#[test]
fn b_fails_before() {
    assert_eq!(1, 2);
}

#[test]
fn c_waits() {
    std::fs::write(std::env::var("STROBE_BEGUN").unwrap(), "").unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn d_after() {}
