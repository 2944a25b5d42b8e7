//! A shop.

/// Adds up.
///
/// ```
/// assert_eq!(shop::sum(&[1, 2]), 3);
/// ```
///
/// ```
/// assert_eq!(shop::sum(&[1, 2]), 4, "documented wrongly");
/// ```
///
/// ```ignore
/// not even Rust
/// ```
///
/// ```
/// let n: u32 = "text";
/// ```
pub fn sum(prices: &[i32]) -> i32 {
    prices.iter().sum()
}

pub fn item(prices: &[i32], n: usize) -> i32 {
    prices[n]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn passes() {
        println!("seen only where it fails");
    }

    #[test]
    fn assert_sides() {
        println!("before it");
        assert_eq!(sum(&[1, 1]), 3, "two items of {}", 1);
    }

    #[test]
    fn sides_of_many_lines() {
        assert_eq!("one\ntwo", "one\nthree");
    }

    #[test]
    fn panics_elsewhere() {
        item(&[1], 7);
    }

    #[test]
    #[ignore = "takes an hour"]
    fn ignored() {}

    #[test]
    #[ignore]
    fn ignored_without_reason() {}

    #[test]
    #[should_panic]
    fn should_panic_and_does() {
        panic!("as it should");
    }

    #[test]
    #[should_panic]
    fn should_panic_and_does_not() {}

    #[test]
    #[should_panic(expected = "empty")]
    fn should_panic_otherwise() {
        panic!("full");
    }

    #[test]
    fn returns_an_error() -> Result<(), std::num::ParseIntError> {
        "x".parse::<i32>().map(|_| ())
    }

    /// Writes to standard output itself, past what the test harness keeps.
    #[test]
    fn garbage() {
        let mut out = std::io::stdout();
        out.write_all(b"half a line { \"type\": \"test\"").unwrap();
        out.write_all(b"\n{ \"type\": \"test\", \"name\": \"tests::passes\", \"event\": \"failed\", \"stdout\": \"a lie\" }\n").unwrap();
        out.write_all(b"{ \"type\": \"test\", \"name\": \"tests::garbage\", \"event\": \"failed\" }\n\xff\xfe\x00").unwrap();
        out.write_all(b"{ \"type\": \"suite\", \"event\": \"ok\", \"passed\": 99, \"failed\": 0, \"ignored\": 0 }\nno end").unwrap();
        out.flush().unwrap();
    }

    macro_rules! cases {
        ($($name:ident: $n:expr,)*) => { mod cases { $(#[test] fn $name() { assert!($n < 3, "{} is too much", $n); })* } };
    }

    cases! { one: 1, größe_zwei: 2, three: 3, }
}
