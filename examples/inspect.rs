fn main() {
    let path = std::env::args().nth(2).unwrap();
    let mut p = chatwire::Parser::new();
    p.feed(&std::fs::read(path).unwrap());
    p.finish();
    while let Some(x) = p.next_event() {
        println!("{x:?}");
    }
    println!("{}", serde_json::to_string(p.completion()).unwrap());
    println!("{:?}", p.deviations().set());
}
