// Parcels are put on shelves by their weight. One of them does not fit anywhere, and the program dies elsewhere.

#[derive(Debug, Clone)]
struct Parcel {
    number: u32,
    grams: u32,
}

struct Depot {
    shelves: [Vec<Parcel>; 3],
}

fn shelf_for(grams: u32) -> usize {
    if grams < 1000 {
        0
    } else if grams < 5000 {
        1
    } else if grams <= 30000 {
        2
    } else {
        3
    }
}

impl Depot {
    #[inline(never)]
    fn put(&mut self, shelf: usize, parcel: Parcel) -> usize {
        self.shelves[shelf].push(parcel);
        self.shelves[shelf].len()
    }

    #[inline(never)]
    fn take_in(&mut self, parcel: &Parcel) -> usize {
        let shelf = shelf_for(parcel.grams);
        self.put(shelf, parcel.clone())
    }
}

fn parcel(id: u32) -> Parcel {
    Parcel { number: id, grams: if id == 61 { 30_500 } else { 200 + (id * 7919) % 29_000 } }
}

fn main() {
    let mut depot = Depot { shelves: [Vec::new(), Vec::new(), Vec::new()] };
    for id in 1..100 {
        let p = parcel(id);
        depot.take_in(&p);
    }
    println!("{} parcels, the last number {}", depot.shelves.iter().map(|s| s.len()).sum::<usize>(), depot.shelves[0].last().map_or(0, |p| p.number));
}
