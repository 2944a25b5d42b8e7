fn deeper(n: u64) -> u64 {
    let here = [n; 512];
    if n == u64::MAX { 0 } else { deeper(std::hint::black_box(n + 1)) + std::hint::black_box(here)[(n % 512) as usize] }
}

#[test]
fn overflows() {
    assert_eq!(deeper(0), 0);
}
