// As keeper.c, in Rust.
use std::collections::{BTreeMap, HashMap};

pub struct Settings {
    host: String,
    api_key: String,
    token: Option<String>,
    headers: HashMap<String, String>,
    sorted: BTreeMap<String, String>,
}

pub enum Way {
    Basic { user: String, password: String },
    Nothing,
}

#[inline(never)]
pub fn login(user: &str, password: &str) -> usize {
    user.len() + password.len()
}

#[inline(never)]
pub fn configure(s: &Settings, way: Way) -> usize {
    let more = match way {
        Way::Basic { user, password } => user.len() + password.len(),
        Way::Nothing => 0,
    };
    s.host.len() + s.api_key.len() + s.token.iter().len() + s.headers.len() + s.sorted.len() + more
}

#[inline(never)]
pub fn get_token(n: usize) -> String {
    std::env::var("KEEPER_PASSWORD").unwrap() + &n.to_string()
}

fn main() {
    let secret = std::env::var("KEEPER_PASSWORD").unwrap();
    let headers: HashMap<String, String> =
        [("db_password".to_string(), secret.clone()), ("plain".to_string(), "neighbour".to_string())].into();
    let s = Settings {
        host: "neighbour".into(),
        api_key: secret.clone(),
        token: Some(secret.clone()),
        sorted: headers.clone().into_iter().collect(),
        headers,
    };
    let way = Way::Basic { user: "neighbour".into(), password: secret.clone() };
    let n = login("neighbour", &secret) + configure(&s, way) + configure(&s, Way::Nothing) + get_token(3).len();
    std::process::exit((n == 0) as i32);
}
