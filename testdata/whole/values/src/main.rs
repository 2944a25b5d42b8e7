// A small inventory kept as JSON: reads orders, books them, prints what is left. It stands on serde_json's own value type.
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::rc::Rc;

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Change {
    Add { item: String, count: u32 },
    Take { item: String, count: u32 },
    Rename { from: String, to: String },
    Batch { changes: Vec<Change> },
}

#[derive(Debug)]
pub enum Fault {
    Unknown(String),
    Short { item: String, wanted: u32, there: u32 },
    Text(serde_json::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unknown(item) => write!(f, "no {item}"),
            Fault::Short { item, wanted, there } => write!(f, "{wanted} of {item} wanted, {there} there"),
            Fault::Text(e) => write!(f, "bad text: {e}"),
        }
    }
}

impl From<serde_json::Error> for Fault {
    fn from(e: serde_json::Error) -> Self {
        Fault::Text(e)
    }
}

#[derive(Default)]
pub struct Stock {
    items: BTreeMap<String, u32>,
    log: VecDeque<Rc<str>>,
    refused: HashMap<String, Vec<u32>>,
    extra: Option<Box<Value>>,
}

impl Stock {
    pub fn book(&mut self, change: &Change) -> Result<u32, Fault> {
        match change {
            Change::Add { item, count } => {
                let there = self.items.entry(item.clone()).or_insert(0);
                *there += count;
                let now = *there;
                self.note(&format!("+{count} {item}"));
                Ok(now)
            }
            Change::Take { item, count } => self.take(item, *count),
            Change::Rename { from, to } => {
                let there = self.items.remove(from).ok_or_else(|| Fault::Unknown(from.clone()))?;
                self.items.insert(to.clone(), there);
                Ok(there)
            }
            Change::Batch { changes } => changes.iter().try_fold(0, |sum, c| self.book(c).map(|n| sum + n)),
        }
    }

    fn take(&mut self, item: &str, count: u32) -> Result<u32, Fault> {
        let there = *self.items.get(item).ok_or_else(|| Fault::Unknown(item.to_string()))?;
        if there < count {
            self.refused.entry(item.into()).or_default().push(count);
            return Err(Fault::Short { item: item.into(), wanted: count, there });
        }
        self.items.insert(item.to_string(), there - count);
        self.note(item);
        Ok(there - count)
    }

    fn note(&mut self, what: &str) {
        if self.log.len() == 5 {
            self.log.pop_front();
        }
        self.log.push_back(what.into());
    }

    pub fn show(&self) -> Value {
        let mut m = Map::new();
        for (k, v) in &self.items {
            m.insert(k.clone(), json!({"count": v, "low": *v < 3, "tags": [k.len(), null, {"first": k.chars().next()}]}));
        }
        m.insert("log".into(), json!(self.log.iter().map(|s| s.to_string()).collect::<Vec<_>>()));
        Value::Object(m)
    }
}

pub fn depth(v: &Value) -> usize {
    match v {
        Value::Array(a) => 1 + a.iter().map(depth).max().unwrap_or(0),
        Value::Object(o) => 1 + o.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

pub fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(a), Value::Object(b)) => {
            for (k, v) in b {
                merge(a.entry(k).or_insert(Value::Null), v);
            }
        }
        (a, b) => *a = b,
    }
}

pub fn read(line: &str) -> Result<Change, Fault> {
    Ok(serde_json::from_str(line)?)
}

fn main() {
    let lines = [
        r#"{"kind":"add","item":"bolt","count":12}"#,
        r#"{"kind":"add","item":"nut","count":4}"#,
        r#"{"kind":"take","item":"bolt","count":5}"#,
        r#"{"kind":"take","item":"nut","count":9}"#,
        r#"{"kind":"rename","from":"nut","to":"wing nut"}"#,
        r#"{"kind":"batch","changes":[{"kind":"add","item":"washer","count":1},{"kind":"take","item":"gone","count":1}]}"#,
        r#"{"kind":"lend"}"#,
    ];
    let mut stock = Stock::default();
    for line in lines {
        match read(line).and_then(|c| stock.book(&c)) {
            Ok(n) => println!("{n} left"),
            Err(e) => println!("refused: {e}"),
        }
    }
    let mut all = stock.show();
    println!("depth {}", depth(&all));
    merge(&mut all, json!({"bolt": {"price": 1.25, "count": 99}, "new": [[1, [2, [3]]], {"a": {"b": {"c": null}}}]}));
    stock.extra = Some(Box::new(all));
    println!("{} {}", serde_json::to_string(stock.extra.as_ref().unwrap()).unwrap(), stock.refused.len());
}
