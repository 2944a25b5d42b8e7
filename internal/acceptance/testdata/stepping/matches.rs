#[derive(Clone, Copy)]
enum Shape {
    Circle(u32),
    Rect { w: u32, h: u32 },
    Empty,
}

#[inline(never)]
fn area(s: Shape) -> u32 {
    match s {
        Shape::Circle(r) => 3 * r * r,
        Shape::Rect { w, h } if w == h => {
            let side = w;
            side * side
        }
        Shape::Rect { w, h } => w * h,
        Shape::Empty => 0,
    }
}

#[inline(never)]
fn classify(n: i32) -> i32 {
    match n {
        i32::MIN..=-1 => -1,
        0 => 0,
        1 | 2 => 12,
        x if x % 2 == 0 => x / 2,
        _ => 99,
    }
}

#[inline(never)]
fn first(v: &[i32]) -> i32 {
    if let [a, .., z] = v {
        return a + z;
    }
    let Some(only) = v.first() else {
        return -1;
    };
    *only
}

fn main() {
    let a = area(Shape::Circle(2)) + area(Shape::Rect { w: 3, h: 3 });
    let b = area(Shape::Rect { w: 2, h: 5 });
    let none = area(Shape::Empty);
    let c = classify(-4) + classify(2) + classify(8);
    let d = first(&[4, 5, 6]) + first(&[7]) + first(&[]);
    let mut stack = Some(2);
    let mut rounds = 0;
    while let Some(n) = stack {
        rounds += 1;
        stack = if n > 0 { Some(n - 1) } else { None };
    }
    if a + b + none == 31 && c == 15 && d == 16 && rounds == 3 {
        return;
    }
    std::process::exit(1);
}
