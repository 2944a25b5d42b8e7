#[derive(Debug)]
enum Fault {
    Empty,
    Bad(u8),
}

struct Parsed {
    value: u32,
    digits: usize,
}

impl From<u8> for Fault {
    fn from(b: u8) -> Self {
        Fault::Bad(b)
    }
}

#[inline(never)]
fn digit(b: u8) -> Result<u32, u8> {
    if b.is_ascii_digit() {
        Ok((b - b'0') as u32)
    } else {
        Err(b)
    }
}

#[inline(never)]
fn parse(text: &[u8]) -> Result<Parsed, Fault> {
    if text.is_empty() {
        return Err(Fault::Empty);
    }
    let mut value = 0;
    let mut digits = 0;
    while digits < text.len() {
        let d = digit(text[digits])?;
        value = value * 10 + d;
        digits += 1;
    }
    Ok(Parsed { value, digits })
}

#[inline(never)]
fn chain(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    let x = a?;
    let y = b?;
    x.checked_sub(y)
}

fn main() {
    let good = parse(b"12");
    let bad = parse(b"1x");
    let empty = parse(b"");
    let mut code = match &good {
        Ok(p) => p.value + p.digits as u32,
        Err(_) => 0,
    };
    if let Err(Fault::Bad(b)) = bad {
        code += b as u32;
    }
    if matches!(empty, Err(Fault::Empty)) {
        code += 1;
    }
    let some = chain(Some(5), Some(3));
    let none = chain(Some(1), None);
    code += some.unwrap_or(0) + none.unwrap_or(100);
    if code != 237 {
        std::process::exit(1);
    }
}
