#[inline(never)]
fn search(grid: &[[u8; 3]; 2], want: u8) -> (usize, usize) {
    let mut found = (9, 9);
    let mut y = 0;
    'rows: while y < 2 {
        let mut x = 0;
        while x < 3 {
            if grid[y][x] == want {
                found = (y, x);
                break 'rows;
            }
            if grid[y][x] == 0 {
                y += 1;
                continue 'rows;
            }
            x += 1;
        }
        y += 1;
    }
    found
}

#[inline(never)]
fn until(n: u32) -> u32 {
    let mut i = 1;
    let first = loop {
        if i * i > n {
            break i;
        }
        i += 1;
    };
    let block = 'b: {
        if first > 2 {
            break 'b 10;
        }
        20
    };
    let mut squares = 0;
    for k in 1.. {
        squares += k * k;
        if squares > 20 { break; }
    }
    first + block + squares
}

#[inline(never)]
fn shadows(n: i64) -> i64 {
    let v = n;
    let v = v * 2;
    let r = {
        let v = v + 1;
        v * 100
    };
    r + v
}

fn main() {
    let grid = [[1, 0, 3], [4, 5, 6]];
    let (y, x) = search(&grid, 5);
    let u = until(5);
    let s = shadows(3);
    let flag = true;
    let letter = 'ß';
    let half = 0.5f32;
    let tuple = (1u8, -2i16, 2.5f64);
    let ok = flag && letter == 'ß' && half < 1.0 && tuple.1 < 0;
    if !ok || y != 1 || x != 1 || u != 43 || s != 706 {
        std::process::exit(1);
    }
}
