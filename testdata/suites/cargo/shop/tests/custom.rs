fn main() {
    println!("custom harness");
    eprintln!("three things went wrong");
    std::process::exit(3);
}
