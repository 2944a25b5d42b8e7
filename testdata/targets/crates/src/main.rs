#![allow(unused_variables)]
// Types of crates, each passed to a function of its own, by reference and by value, and returned by one. Every case prints what must
// be shown of it, as computed by the crate's own public interface.
use std::error::Error;
use std::fmt;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context;
use chrono::SecondsFormat::AutoSi;
use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc};
use serde_json::{json, Map, Number, Value};
use time::macros::{date, datetime, offset};

type Stamp = DateTime<Utc>;
type Zoned = DateTime<FixedOffset>;
type Small = smallvec::SmallVec<[i32; 4]>;
type Tiny = tinyvec::TinyVec<[i32; 4]>;

fn q(s: &str) -> String {
    serde_json::to_string(s).unwrap()
}

fn n() -> u32 {
    black_box(7)
}

fn say(case: &str, arg: &str, want: &str) {
    println!("{{\"case\":\"{}\",\"arg\":\"{}\",\"want\":{}}}", case, arg, want);
}

/// case calls take_NAME with a reference, take_NAME_value with the value, and make_NAME, which returns one.
macro_rules! case {
    ($name:ident, $type:ty, $make:expr, $want:expr) => {{
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            pub mod r { use super::*; #[inline(never)] pub fn $name(v: &$type) { black_box((v, line!())); } }
            pub mod v { use super::*; #[inline(never)] pub fn $name(v: $type) { black_box((v, line!())); } }
            pub mod m { use super::*; #[inline(never)] pub fn $name(n: u32) -> $type { black_box((n, line!())); black_box($make) } }
        }
        let made = black_box($name::m::$name(black_box(7)));
        let want: String = ($want)(&made);
        say(concat!("m::", stringify!($name)), "return", &want);
        say(concat!("r::", stringify!($name)), "v", &want);
        $name::r::$name(&made);
        say(concat!("v::", stringify!($name)), "v", &want);
        $name::v::$name(made);
    }};
}

#[derive(Debug, Clone)]
pub struct Bad { code: i32, what: String }
impl fmt::Display for Bad { fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result { write!(f, "bad {} {}", self.code, self.what) } }
impl Error for Bad {}
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    #[error("missing {0}")] Missing(String),
    #[error("io")] Io(#[from] std::io::Error),
    #[error("none")] Nothing,
}
fn bad() -> Bad { Bad { code: 5, what: "worse".to_string() } }
const BAD: &str = r#"{"code":5,"what":"worse"}"#;

fn errors() {
    case!(error_str, Box<dyn Error>, "plain text".into(), |e: &Box<dyn Error>| format!(r#"{{"type":"StringError","value":{}}}"#, q(&e.to_string())));
    case!(error_string, Box<dyn Error + Send + Sync>, format!("made {}", 5).into(), |e: &Box<dyn Error + Send + Sync>| format!(r#"{{"type":"StringError","value":{}}}"#, q(&e.to_string())));
    case!(error_own, Box<dyn Error>, Box::new(bad()), |_: &Box<dyn Error>| format!(r#"{{"type":"crates::Bad","value":{}}}"#, BAD));
    case!(error_enum, Box<dyn Error + Send + Sync>, Box::new(Wrong::Missing("key".into())), |_: &_| r#"{"type":"crates::Wrong","value":{"Missing":"key"}}"#.to_string());
    case!(error_unit, Box<dyn Error>, Box::new(Wrong::Nothing), |_: &_| r#"{"type":"crates::Wrong","value":"Nothing"}"#.to_string());
    case!(error_fmt, Box<dyn Error>, Box::new(fmt::Error), |_: &_| r#"{"type":"core::fmt::Error","value":{}}"#.to_string());
    case!(error_parse, Box<dyn Error>, "x".parse::<i32>().unwrap_err().into(), |_: &_| r#"{"type":"core::num::error::ParseIntError","value":{"kind":"InvalidDigit"}}"#.to_string());
    case!(error_result, Result<i32, Box<dyn Error>>, Err(Box::new(bad())), |_: &_| format!(r#"{{"Err":{{"type":"crates::Bad","value":{}}}}}"#, BAD));
    case!(io_os, std::io::Error, std::io::Error::from_raw_os_error(2), |_: &_| q("ENOENT (os error 2)"));
    case!(io_kind, std::io::Error, std::io::ErrorKind::UnexpectedEof.into(), |_: &_| q("UnexpectedEof"));
    case!(io_message, std::io::Error, std::io::Read::read_exact(&mut &b""[..], &mut [0u8; 4]).unwrap_err(), |e: &std::io::Error| format!(r#"{{"kind":"{:?}","message":{}}}"#, e.kind(), q(&e.to_string())));
    case!(io_custom, std::io::Error, std::io::Error::new(std::io::ErrorKind::Other, bad()), |_: &_| format!(r#"{{"kind":"Other","error":{{"type":"crates::Bad","value":{}}}}}"#, BAD));
    case!(io_text, std::io::Error, std::io::Error::new(std::io::ErrorKind::InvalidData, "odd data"), |_: &_| r#"{"kind":"InvalidData","error":{"type":"StringError","value":"odd data"}}"#.to_string());
    case!(io_result, std::io::Result<u64>, std::fs::metadata("/nowhere/at/all").map(|m| m.len()), |_: &_| r#"{"Err":"ENOENT (os error 2)"}"#.to_string());
}

fn anyhows() {
    case!(any_str, anyhow::Error, anyhow::anyhow!("plain"), |e: &anyhow::Error| q(&e.to_string()));
    case!(any_string, anyhow::Error, anyhow::anyhow!("made {}", n()), |e: &anyhow::Error| q(&e.to_string()));
    case!(any_own, anyhow::Error, bad().into(), |_: &_| format!(r#"{{"type":"crates::Bad","value":{}}}"#, BAD));
    case!(any_enum, anyhow::Error, Wrong::Missing("k".into()).into(), |_: &_| r#"{"type":"crates::Wrong","value":{"Missing":"k"}}"#.to_string());
    case!(any_context, anyhow::Error, anyhow::Error::from(bad()).context("reading it"), |_: &_| format!(r#"{{"context":"reading it","error":{{"type":"crates::Bad","value":{}}}}}"#, BAD));
    case!(any_chain, anyhow::Error, anyhow::anyhow!("root {}", n()).context("middle").context(format!("top {}", n())), |e: &anyhow::Error| {
        let c: Vec<String> = e.chain().map(|e| q(&e.to_string())).collect();
        format!(r#"{{"context":{},"error":{{"context":{},"error":{}}}}}"#, c[0], c[1], c[2])
    });
    case!(any_io, anyhow::Result<u64>, std::fs::metadata("/nowhere/at/all").map(|m| m.len()).context("size"), |_: &_| r#"{"Err":{"context":"size","error":"ENOENT (os error 2)"}}"#.to_string());
    case!(any_ok, anyhow::Result<u64>, Ok(n() as u64), |_: &_| r#"{"Ok":7}"#.to_string());
    case!(eyre_str, eyre::Report, eyre::eyre!("plain"), |e: &eyre::Report| q(&e.to_string()));
    case!(eyre_own, eyre::Report, eyre::Report::from(bad()).wrap_err("outer"), |_: &_| format!(r#"{{"msg":"outer","error":{{"type":"crates::Bad","value":{}}}}}"#, BAD));
}

fn shared() {
    fn counted(v: String, strong: usize) -> String { format!(r#"{{"value":{},"strong":{},"weak":0}}"#, v, strong) }
    case!(arc_slice, Arc<[i32]>, vec![1, 2, n() as i32].into(), |v: &Arc<[i32]>| counted(format!("[1,2,{}]", v[2]), 1));
    case!(rc_slice, Rc<[String]>, vec!["a".to_string(), "b".into()].into(), |_: &_| counted(r#"["a","b"]"#.into(), 1));
    case!(arc_bytes, Arc<[u8]>, vec![1u8, 2, 255].into(), |_: &_| counted("[1,2,255]".into(), 1));
    case!(arc_empty, Arc<[u64]>, vec![].into(), |_: &_| counted("[]".into(), 1));
    case!(arc_str, Arc<str>, "shared".into(), |_: &_| counted(q("shared"), 1));
    case!(rc_str, Rc<str>, format!("rc {}", n()).into(), |_: &_| counted(q("rc 7"), 1));
    case!(arc_dyn, Arc<dyn Error + Send + Sync>, Arc::new(bad()), |_: &_| counted(format!(r#"{{"type":"crates::Bad","value":{}}}"#, BAD), 1));
    case!(arc_path, Arc<std::path::Path>, std::path::Path::new("/a/b").into(), |_: &_| counted(q("/a/b"), 1));
    case!(arc_pair, (Arc<[u16]>, u32), (vec![7u16, 8].into(), 9), |_: &_| format!("[{},9]", counted("[7,8]".into(), 1)));
    case!(arc_option, Option<Arc<str>>, Some("maybe".into()), |_: &_| counted(q("maybe"), 1));
}

fn joined<T: ToString>(items: impl Iterator<Item = T>) -> String {
    format!("[{}]", items.map(|i| i.to_string()).collect::<Vec<_>>().join(","))
}
fn mapped<'a, K: ToString + 'a, V: ToString + 'a>(items: impl Iterator<Item = (&'a K, &'a V)>) -> String {
    format!("{{{}}}", items.map(|(k, v)| format!("{}:{}", q(&k.to_string()), v.to_string())).collect::<Vec<_>>().join(","))
}

fn collections() {
    case!(hb_map, hashbrown::HashMap<String, i32>, [("one".to_string(), 1), ("two".to_string(), 2), ("three".to_string(), n() as i32)].into_iter().collect(),
        |m: &hashbrown::HashMap<String, i32>| mapped(m.iter()));
    case!(hb_ints, hashbrown::HashMap<u32, u64>, (0..40).map(|i| (i * n(), i as u64)).collect(), |m: &hashbrown::HashMap<u32, u64>| mapped(m.iter()));
    case!(hb_empty, hashbrown::HashMap<u8, u8>, hashbrown::HashMap::new(), |_: &_| "{}".to_string());
    case!(hb_set, hashbrown::HashSet<i16>, [5, -3, 9].into_iter().collect(), |m: &hashbrown::HashSet<i16>| joined(m.iter()));
    case!(ix_map, indexmap::IndexMap<String, i32>, [("one".to_string(), 1), ("two".to_string(), n() as i32)].into_iter().collect(), |m: &indexmap::IndexMap<String, i32>| mapped(m.iter()));
    case!(ix_std, indexmap::IndexMap<u8, f64, std::hash::RandomState>, [(3, 0.5), (1, 2.25)].into_iter().collect(), |m: &indexmap::IndexMap<u8, f64>| mapped(m.iter()));
    case!(ix_set, indexmap::IndexSet<i32>, [5, 3, 9].into_iter().collect(), |m: &indexmap::IndexSet<i32>| joined(m.iter()));
    case!(sv_in, Small, smallvec::smallvec![1, 2, n() as i32], |v: &Small| joined(v.iter()));
    case!(sv_full, Small, smallvec::smallvec![1, 2, 3, n() as i32], |v: &Small| joined(v.iter()));
    case!(sv_out, Small, smallvec::smallvec![1, 2, 3, 4, n() as i32], |v: &Small| joined(v.iter()));
    case!(sv_none, Small, smallvec::SmallVec::new(), |_: &_| "[]".to_string());
    case!(sv_text, smallvec::SmallVec<[String; 2]>, smallvec::smallvec!["a".to_string()], |_: &_| r#"["a"]"#.to_string());
    case!(sv_texts, smallvec::SmallVec<[String; 2]>, smallvec::smallvec!["a".to_string(), "b".to_string(), "c".to_string()], |_: &_| r#"["a","b","c"]"#.to_string());
    case!(sv_byte, smallvec::SmallVec<[u8; 3]>, smallvec::smallvec![n() as u8], |v: &smallvec::SmallVec<[u8; 3]>| joined(v.iter()));
    case!(tv_in, Tiny, tinyvec::tiny_vec![1, n() as i32], |v: &Tiny| joined(v.iter()));
    case!(tv_out, Tiny, (0..9).map(|i| i * n() as i32).collect(), |v: &Tiny| joined(v.iter()));
    case!(tv_array, tinyvec::ArrayVec<[u8; 8]>, [1u8, 2, n() as u8].into_iter().collect(), |v: &tinyvec::ArrayVec<[u8; 8]>| joined(v.iter()));
    case!(av, arrayvec::ArrayVec<i32, 8>, [1, 2, n() as i32].into_iter().collect(), |v: &arrayvec::ArrayVec<i32, 8>| joined(v.iter()));
    case!(av_text, arrayvec::ArrayString<16>, arrayvec::ArrayString::from("inside").unwrap(), |v: &arrayvec::ArrayString<16>| q(v));
    case!(by_static, bytes::Bytes, bytes::Bytes::from_static(b"abc"), |v: &bytes::Bytes| joined(v.iter()));
    case!(by_vec, bytes::Bytes, vec![n() as u8; 5].into(), |v: &bytes::Bytes| joined(v.iter()));
    case!(by_mut, bytes::BytesMut, bytes::BytesMut::from(&b"abcd"[..]), |v: &bytes::BytesMut| joined(v.iter()));
    case!(either_left, either::Either<i32, String>, either::Either::Left(n() as i32), |_: &_| r#"{"Left":7}"#.to_string());
}

fn json() {
    case!(json_object, Value, json!({"b": [1, -2, 2.5, null, true], "a": {"x": "y"}, "n": n()}), |v: &Value| v.to_string());
    case!(json_null, Value, Value::Null, |v: &Value| v.to_string());
    case!(json_text, Value, json!("text"), |v: &Value| v.to_string());
    case!(json_true, Value, json!(true), |v: &Value| v.to_string());
    case!(json_float, Value, json!(0.25), |v: &Value| v.to_string());
    case!(json_array, Value, json!([[], {}, [1]]), |v: &Value| v.to_string());
    case!(json_map, Map<String, Value>, json!({"k": 1, "l": [n()]}).as_object().unwrap().clone(), |v: &Map<String, Value>| serde_json::to_string(v).unwrap());
    case!(json_number, Number, Number::from(u64::MAX), |v: &Number| v.to_string());
    case!(json_negative, Number, Number::from(-5), |v: &Number| v.to_string());
    case!(json_list, Vec<Value>, vec![json!(1), json!("a"), Value::Null], |v: &Vec<Value>| serde_json::to_string(v).unwrap());
    case!(json_option, Option<Value>, Some(json!({"in": n()})), |v: &Option<Value>| v.as_ref().unwrap().to_string());
}

fn nd() -> NaiveDateTime { NaiveDate::from_ymd_opt(2024, 2, 29).unwrap().and_hms_nano_opt(23, 59, 58, 1_500_000).unwrap() }

fn times() {
    case!(ch_utc, Stamp, nd().and_utc(), |v: &Stamp| q(&v.to_rfc3339_opts(AutoSi, true).replace(".001500", ".0015")));
    case!(ch_epoch, Stamp, DateTime::from_timestamp(0, 0).unwrap(), |v: &Stamp| q(&v.to_rfc3339_opts(AutoSi, true)));
    case!(ch_old, Stamp, DateTime::from_timestamp(-62_000_000_000, 0).unwrap(), |v: &Stamp| q(&v.to_rfc3339_opts(AutoSi, true)));
    case!(ch_zone, Zoned, FixedOffset::east_opt(5 * 3600 + 1800).unwrap().with_ymd_and_hms(2023, 12, 31, 1, 2, 3).unwrap(), |v: &Zoned| q(&v.to_rfc3339()));
    case!(ch_west, Zoned, FixedOffset::west_opt(3600).unwrap().with_ymd_and_hms(2023, 1, 1, 23, 30, 0).unwrap(), |v: &Zoned| q(&v.to_rfc3339()));
    case!(ch_local, DateTime<chrono::Local>, chrono::Local.with_ymd_and_hms(2022, 6, 7, 8, 9, 10).unwrap(), |v: &DateTime<chrono::Local>| q(&v.to_rfc3339()));
    case!(ch_naive, NaiveDateTime, nd(), |_: &_| q("2024-02-29T23:59:58.0015"));
    case!(ch_date, NaiveDate, NaiveDate::from_ymd_opt(1999, 12, 31).unwrap(), |v: &NaiveDate| q(&v.to_string()));
    case!(ch_bc, NaiveDate, NaiveDate::from_ymd_opt(-44, 3, 15).unwrap(), |v: &NaiveDate| q(&v.to_string()));
    case!(ch_far, NaiveDate, NaiveDate::from_ymd_opt(12345, 6, 7).unwrap(), |v: &NaiveDate| q(&v.to_string()));
    case!(ch_time, NaiveTime, NaiveTime::from_hms_milli_opt(1, 2, 3, 450).unwrap(), |_: &_| q("01:02:03.45"));
    case!(ch_leap, NaiveTime, NaiveTime::from_hms_nano_opt(23, 59, 59, 1_500_000_000).unwrap(), |_: &_| q("23:59:60.5"));
    case!(ch_delta, TimeDelta, TimeDelta::milliseconds(90_250), |_: &_| q("90.25s"));
    case!(ch_less, TimeDelta, TimeDelta::milliseconds(-1500), |_: &_| q("-1.5s"));
    case!(ch_offset, FixedOffset, FixedOffset::east_opt(-5400).unwrap(), |v: &FixedOffset| q(&v.to_string()));
    case!(ch_option, Option<NaiveDate>, NaiveDate::from_ymd_opt(2000, 1, 1), |_: &_| q("2000-01-01"));
    case!(ti_zone, time::OffsetDateTime, datetime!(2024-02-29 12:34:56.789 +2:30), |v: &time::OffsetDateTime| q(&v.format(&time::format_description::well_known::Rfc3339).unwrap()));
    case!(ti_utc, time::OffsetDateTime, datetime!(1970-01-01 0:00 UTC), |v: &time::OffsetDateTime| q(&v.format(&time::format_description::well_known::Rfc3339).unwrap()));
    case!(ti_stamp, time::UtcDateTime, time::UtcDateTime::from_unix_timestamp(1_700_000_000).unwrap(), |_: &_| q("2023-11-14T22:13:20Z"));
    case!(ti_plain, time::PrimitiveDateTime, datetime!(2001-09-09 1:46:40), |_: &_| q("2001-09-09T01:46:40"));
    case!(ti_date, time::Date, date!(2025-12-31), |v: &time::Date| q(&v.to_string()));
    case!(ti_time, time::Time, time::Time::from_hms_micro(7, 8, 9, 10).unwrap(), |_: &_| q("07:08:09.00001"));
    case!(ti_offset, time::UtcOffset, offset!(-1:30), |_: &_| q("-01:30"));
    case!(ti_span, time::Duration, time::Duration::new(-2, -500_000_000), |_: &_| q("-2.5s"));
}

fn rest() {
    case!(id, uuid::Uuid, uuid::Uuid::from_u128(0x0123456789abcdef_fedcba9876543210), |v: &uuid::Uuid| q(&v.to_string()));
    case!(id_nil, uuid::Uuid, uuid::Uuid::nil(), |v: &uuid::Uuid| q(&v.to_string()));
    case!(id_option, Option<uuid::Uuid>, Some(uuid::Uuid::max()), |v: &Option<uuid::Uuid>| q(&v.unwrap().to_string()));
    case!(ids, Vec<uuid::Uuid>, vec![uuid::Uuid::nil(), uuid::Uuid::from_u128(9)], |v: &Vec<uuid::Uuid>| format!("[{},{}]", q(&v[0].to_string()), q(&v[1].to_string())));
    case!(link, url::Url, url::Url::parse("https://user@example.org:8080/p/a?q=1#f").unwrap(), |v: &url::Url| q(v.as_str()));
}

fn main() {
    errors();
    anyhows();
    shared();
    collections();
    json();
    times();
    rest();
}
