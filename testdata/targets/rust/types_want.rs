// What debug_query must show for a value, computed from the value itself: one JSON line per case on
// standard output. The rules are those of the interface contract: text cut at 1 KB, sequences at 100
// elements, pointers followed to a depth, an object that encloses itself named by its address.
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::num::{NonZeroU32, Wrapping};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, AtomicI16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::{Duration, Instant, SystemTime};

/// depth is the serializationDepth that the test asks for: the program's argument.
fn depth() -> usize {
    static DEPTH: OnceLock<usize> = OnceLock::new();
    *DEPTH.get_or_init(|| std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(6))
}
const MAX_TEXT: usize = 1024;
const MAX_ELEMS: usize = 100;

/// Out is the JSON written so far, and the objects that enclose the value at hand.
#[derive(Default)]
pub struct Out {
    pub text: String,
    over: Vec<usize>,
}

impl Out {
    pub fn raw(&mut self, s: &str) {
        self.text.push_str(s);
    }

    pub fn quoted(&mut self, s: &str) {
        self.text.push('"');
        for c in s.chars() {
            match c {
                '"' | '\\' => self.text.extend(['\\', c]),
                '\n' => self.raw("\\n"),
                '\t' => self.raw("\\t"),
                '\r' => self.raw("\\r"),
                c if (c as u32) < 0x20 || c as u32 == 0x7f => self.text.push_str(&format!("\\u{:04x}", c as u32)),
                c => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    /// words writes text, cut at 1 KB on a character's border.
    pub fn words(&mut self, s: &str) {
        if s.len() <= MAX_TEXT {
            return self.quoted(s);
        }
        let mut n = MAX_TEXT;
        while !s.is_char_boundary(n) {
            n -= 1;
        }
        self.quoted(&format!("{}…(+{} bytes)", &s[..n], s.len() - n));
    }

    /// follow writes what lies one pointer deeper, at addr.
    pub fn follow(&mut self, addr: usize, inner: impl FnOnce(&mut Out)) {
        if self.over.contains(&addr) {
            return self.quoted(&format!("<circular ref to {:#x}>", addr));
        }
        if self.over.len() == depth() {
            return self.quoted(&format!("<max depth {} reached>", depth()));
        }
        self.over.push(addr);
        inner(self);
        self.over.pop();
    }

    pub fn list<'a, T: Want + 'a>(&mut self, items: impl Iterator<Item = &'a T>) {
        self.raw("[");
        let mut left = 0;
        for (i, item) in items.enumerate() {
            if i >= MAX_ELEMS {
                left += 1;
                continue;
            }
            if i > 0 {
                self.raw(",");
            }
            item.want(self);
        }
        if left > 0 {
            self.raw(",");
            self.quoted(&format!("…(+{} elements)", left));
        }
        self.raw("]");
    }

    /// map writes an object, or pairs where the keys are no text and no scalars.
    pub fn map<'a, K: Want + 'a, V: Want + 'a>(&mut self, items: impl Iterator<Item = (&'a K, &'a V)>) {
        self.raw(if K::KEY { "{" } else { "[" });
        let mut left = 0;
        for (i, (k, v)) in items.enumerate() {
            if i >= MAX_ELEMS {
                left += 1;
                continue;
            }
            if i > 0 {
                self.raw(",");
            }
            let mut key = Out::default();
            k.want(&mut key);
            match (K::KEY, key.text.starts_with('"')) {
                (true, true) => self.raw(&format!("{}:", key.text)),
                (true, false) => self.raw(&format!("\"{}\":", key.text)),
                _ => self.raw(&format!("[{},", key.text)),
            }
            v.want(self);
            if !K::KEY {
                self.raw("]");
            }
        }
        if left > 0 && K::KEY {
            self.raw(",\"…\":");
            self.quoted(&format!("+{} elements", left));
        } else if left > 0 {
            self.raw(",");
            self.quoted(&format!("…(+{} elements)", left));
        }
        self.raw(if K::KEY { "}" } else { "]" });
    }
}

/// Want is a type that knows how it must be shown.
pub trait Want {
    /// KEY says that it makes a key of a JSON object.
    const KEY: bool = false;
    fn want(&self, o: &mut Out);
}

/// expect prints the line of one value of one call.
pub fn expect<T: Want + ?Sized>(case: &str, arg: &str, v: &T, by_reference: bool) {
    let mut o = Out::default();
    if by_reference {
        o.over.push(v as *const T as *const u8 as usize);
    }
    v.want(&mut o);
    println!("{{\"case\":\"{}\",\"arg\":\"{}\",\"want\":{}}}", case, arg, o.text);
}

/// by_ref calls a function of its own with a reference to the value; by_value with the value; make
/// calls one that returns it. The line number keeps functions of equal code apart; black boxes keep
/// the compiler from passing what it knows.
#[macro_export]
macro_rules! by_ref {
    ($name:ident, $ty:ty, $value:expr) => {{
        #[inline(never)]
        fn $name(v: &$ty) {
            std::hint::black_box((v, line!()));
        }
        let v: $ty = $value;
        want::expect(stringify!($name), "v", &v, true);
        $name(std::hint::black_box(&v));
    }};
}
#[macro_export]
macro_rules! by_value {
    ($name:ident, $ty:ty, $value:expr) => {{
        #[inline(never)]
        fn $name(v: $ty) {
            std::hint::black_box(line!());
            let _ = std::hint::black_box(v);
        }
        let v: $ty = $value;
        want::expect(stringify!($name), "v", &v, false);
        $name(std::hint::black_box(v));
    }};
}
#[macro_export]
macro_rules! make {
    ($name:ident, $ty:ty, $value:expr) => {{
        #[inline(never)]
        fn $name() -> $ty {
            std::hint::black_box(line!());
            std::hint::black_box($value)
        }
        let v: $ty = $name();
        want::expect(stringify!($name), "return", &v, false);
        std::hint::black_box(&v);
    }};
}
/// shown says that a struct is shown as an object of these members.
#[macro_export]
macro_rules! shown {
    ($ty:ty { $first:ident $(, $rest:ident)* }) => {
        impl want::Want for $ty {
            fn want(&self, o: &mut want::Out) {
                o.raw(concat!("{\"", stringify!($first), "\":"));
                self.$first.want(o);
                $( o.raw(concat!(",\"", stringify!($rest), "\":")); self.$rest.want(o); )*
                o.raw("}");
            }
        }
    };
}

macro_rules! plain {
    ($($ty:ty)*) => { $( impl Want for $ty {
        const KEY: bool = true;
        fn want(&self, o: &mut Out) { o.raw(&self.to_string()); }
    } )* };
}
plain!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool NonZeroU32 Wrapping<i32>);

macro_rules! texts {
    ($($ty:ty, $v:ident => $text:expr;)*) => { $( impl Want for $ty {
        const KEY: bool = true;
        fn want(&self, o: &mut Out) { let $v = self; o.words($text); }
    } )* };
}
texts! {
    str, v => v;
    String, v => v.as_str();
    char, v => &v.to_string();
    Path, v => v.to_str().unwrap();
    PathBuf, v => v.to_str().unwrap();
    OsStr, v => v.to_str().unwrap();
    OsString, v => v.to_str().unwrap();
    CStr, v => v.to_str().unwrap();
    CString, v => v.to_str().unwrap();
}

macro_rules! lists {
    ($($ty:ty;)*) => { $( impl<T: Want> Want for $ty {
        fn want(&self, o: &mut Out) { o.list(self.iter()); }
    } )* };
}
lists! { [T]; Vec<T>; VecDeque<T>; HashSet<T>; BTreeSet<T>; BinaryHeap<T>; LinkedList<T>; }

impl<T: Want, const N: usize> Want for [T; N] {
    fn want(&self, o: &mut Out) {
        o.list(self.iter());
    }
}
impl<K: Want, V: Want> Want for HashMap<K, V> {
    fn want(&self, o: &mut Out) {
        o.map(self.iter());
    }
}
impl<K: Want, V: Want> Want for BTreeMap<K, V> {
    fn want(&self, o: &mut Out) {
        o.map(self.iter());
    }
}

/// Fat references show what they refer to as part of themselves; thin ones lead one pointer deeper.
fn pointee<T: Want + ?Sized>(v: &T, o: &mut Out) {
    if std::mem::size_of::<&T>() > std::mem::size_of::<usize>() {
        return v.want(o);
    }
    o.follow(v as *const T as *const u8 as usize, |o| v.want(o));
}
impl<T: Want + ?Sized> Want for &T {
    const KEY: bool = T::KEY;
    fn want(&self, o: &mut Out) {
        pointee(*self, o);
    }
}
impl<T: Want + ?Sized> Want for Box<T> {
    fn want(&self, o: &mut Out) {
        pointee(&**self, o);
    }
}

/// counted writes a shared pointer: its value lies one pointer deeper, its counts beside the value.
fn counted<T: Want + ?Sized>(v: &T, strong: usize, weak: usize, o: &mut Out) {
    o.raw("{\"value\":");
    if std::mem::size_of::<&T>() > std::mem::size_of::<usize>() {
        v.want(o);
    } else {
        o.follow(v as *const T as *const u8 as usize, |o| v.want(o));
    }
    o.raw(&format!(",\"strong\":{},\"weak\":{}}}", strong, weak));
}
impl<T: Want + ?Sized> Want for Rc<T> {
    fn want(&self, o: &mut Out) {
        counted(&**self, Rc::strong_count(self), Rc::weak_count(self), o);
    }
}
impl<T: Want + ?Sized> Want for Arc<T> {
    fn want(&self, o: &mut Out) {
        counted(&**self, Arc::strong_count(self), Arc::weak_count(self), o);
    }
}
impl<T: Want> Want for Weak<T> {
    fn want(&self, o: &mut Out) {
        match self.upgrade() {
            None => o.raw("null"),
            Some(rc) => counted(&*rc, Rc::strong_count(&rc) - 1, Rc::weak_count(&rc), o),
        }
    }
}
impl<T: Want> Want for std::sync::Weak<T> {
    fn want(&self, o: &mut Out) {
        match self.upgrade() {
            None => o.raw("null"),
            Some(arc) => counted(&*arc, Arc::strong_count(&arc) - 1, Arc::weak_count(&arc), o),
        }
    }
}

impl<T: Want> Want for Option<T> {
    fn want(&self, o: &mut Out) {
        match self {
            None => o.raw("null"),
            Some(v) => {
                let from = o.text.len();
                v.want(o);
                if &o.text[from..] == "null" {
                    o.text.truncate(from);
                    o.raw("{\"Some\":null}");
                }
            }
        }
    }
}
impl<T: Want, E: Want> Want for Result<T, E> {
    fn want(&self, o: &mut Out) {
        o.raw(if self.is_ok() { "{\"Ok\":" } else { "{\"Err\":" });
        match self {
            Ok(v) => v.want(o),
            Err(e) => e.want(o),
        }
        o.raw("}");
    }
}
impl<B: Want + ToOwned + ?Sized> Want for Cow<'_, B> {
    fn want(&self, o: &mut Out) {
        match self {
            Cow::Borrowed(b) => b.want(o),
            Cow::Owned(b) => std::borrow::Borrow::<B>::borrow(b).want(o),
        }
    }
}
impl<T: Want> Want for Cell<T> {
    fn want(&self, o: &mut Out) {
        unsafe { (*self.as_ptr()).want(o) }
    }
}
impl<T: Want> Want for RefCell<T> {
    fn want(&self, o: &mut Out) {
        unsafe { (*self.as_ptr()).want(o) } // also while it is mutably borrowed
    }
}
impl<T: Want> Want for Mutex<T> {
    fn want(&self, o: &mut Out) {
        self.lock().unwrap_or_else(|e| e.into_inner()).want(o);
    }
}
impl<T: Want> Want for RwLock<T> {
    fn want(&self, o: &mut Out) {
        self.read().unwrap().want(o);
    }
}
impl<T: Want> Want for OnceLock<T> {
    fn want(&self, o: &mut Out) {
        match self.get() {
            None => o.raw("null"),
            Some(v) => {
                let from = o.text.len();
                v.want(o);
                if &o.text[from..] == "null" {
                    o.text.truncate(from);
                    o.raw("{\"Some\":null}");
                }
            }
        }
    }
}
macro_rules! atomics {
    ($($ty:ty)*) => { $( impl Want for $ty {
        fn want(&self, o: &mut Out) { self.load(Ordering::SeqCst).want(o); }
    } )* };
}
atomics!(AtomicUsize AtomicI16 AtomicBool);

impl Want for () {
    fn want(&self, o: &mut Out) {
        o.raw("null");
    }
}
impl<T> Want for std::marker::PhantomData<T> {
    fn want(&self, o: &mut Out) {
        o.raw("{}");
    }
}
impl<T: Want> Want for (T,) {
    fn want(&self, o: &mut Out) {
        self.0.want(o);
    }
}
macro_rules! tuples {
    ($($($t:ident $i:tt)+;)*) => { $( impl<$($t: Want),+> Want for ($($t,)+) {
        fn want(&self, o: &mut Out) {
            let mut sep = "[";
            $( o.raw(sep); self.$i.want(o); sep = ","; )+
            o.raw(if sep == "," { "]" } else { "" });
        }
    } )* };
}
tuples! { A 0 B 1; A 0 B 1 C 2; A 0 B 1 C 2 D 3; }

impl<T: Want> Want for Range<T> {
    fn want(&self, o: &mut Out) {
        o.raw("{\"start\":");
        self.start.want(o);
        o.raw(",\"end\":");
        self.end.want(o);
        o.raw("}");
    }
}
impl<T: Want> Want for RangeInclusive<T> {
    fn want(&self, o: &mut Out) {
        o.raw("{\"start\":");
        self.start().want(o);
        o.raw(",\"end\":");
        self.end().want(o);
        o.raw(",\"exhausted\":false}");
    }
}

/// seconds writes as many digits of a second as are needed.
fn seconds(nanos: u32) -> String {
    match nanos {
        0 => String::new(),
        n => format!(".{:09}", n).trim_end_matches('0').to_string(),
    }
}
impl Want for Duration {
    fn want(&self, o: &mut Out) {
        o.quoted(&format!("{}{}s", self.as_secs(), seconds(self.subsec_nanos())));
    }
}
impl Want for Instant {
    fn want(&self, o: &mut Out) {
        let text = format!("{:?}", self); // nothing else tells
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|s| !s.is_empty());
        let sec: u64 = numbers.next().unwrap().parse().unwrap();
        let nsec: u32 = numbers.next().unwrap().parse().unwrap();
        Duration::new(sec, nsec).want(o);
    }
}
impl Want for SystemTime {
    fn want(&self, o: &mut Out) {
        let (sec, nsec) = match self.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(d) => (d.as_secs() as i64, d.subsec_nanos()),
            Err(e) if e.duration().subsec_nanos() == 0 => (-(e.duration().as_secs() as i64), 0),
            Err(e) => (-(e.duration().as_secs() as i64) - 1, 1_000_000_000 - e.duration().subsec_nanos()),
        };
        let (day, s) = (sec.div_euclid(86400), sec.rem_euclid(86400));
        let (mut year, mut left) = (1970, day); // by counting: the test's years are near
        let leap = |y: i64| (y % 4 == 0 && y % 100 != 0 || y % 400 == 0) as i64;
        while left < 0 {
            year -= 1;
            left += 365 + leap(year);
        }
        while left >= 365 + leap(year) {
            left -= 365 + leap(year);
            year += 1;
        }
        let mut month = 0;
        let days = [31, 28 + leap(year), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        while left >= days[month] {
            left -= days[month];
            month += 1;
        }
        o.quoted(&format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", year, month + 1, left + 1, s / 3600, s / 60 % 60, s % 60, seconds(nsec)));
    }
}
