#[test]
fn a_failure() {
    assert!(false, "fails before the crash");
}

#[test]
fn b_segfault() {
    unsafe { std::ptr::null_mut::<i32>().wrapping_add(1).write_volatile(1) }
}

#[test]
fn c_not_reached() {}
