// Types of the standard library, each passed to a function of its own, by reference and by value, and
// returned by one. Every case prints what must be shown of it.
#[path = "types_want.rs"]
#[macro_use]
mod want;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::marker::PhantomData;
use std::num::{NonZeroU32, Wrapping};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, AtomicI16, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::{Duration, Instant, SystemTime};

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Point {
    x: i32,
    y: i64,
}
shown!(Point { x, y });

#[derive(Clone, Debug)]
struct Named {
    name: String,
    at: Point,
    tags: Vec<String>,
}
shown!(Named { name, at, tags });

fn point(x: i32) -> Point {
    Point { x, y: -(x as i64) << 33 }
}
fn named(n: usize) -> Named {
    Named { name: format!("n{}", n), at: point(n as i32), tags: (0..n).map(|i| format!("t{}", i)).collect() }
}
fn long(n: usize) -> String {
    (0..n).map(|i| char::from(b'a' + (i * 7 % 26) as u8)).collect()
}

fn text() {
    by_value!(take_str, &str, "plain");
    by_value!(take_str_empty, &str, "");
    by_value!(take_str_part, &str, &"0123456789"[2..7]);
    {
        #[inline(never)]
        fn take_str_known(v: &str) { // the compiler may pass its length only
            std::hint::black_box((v, line!()));
        }
        want::expect("take_str_known", "v", "known", false);
        take_str_known("known");
    }
    by_ref!(take_str_ref, &str, "by reference");
    by_value!(take_str_escapes, &str, "a\"b\\c\n\td\u{1}<e>");
    by_value!(take_str_unicode, &str, "größe 日本語 🦀");
    by_ref!(take_string, String, String::from("hello, world"));
    by_ref!(take_string_empty, String, String::new());
    by_ref!(take_string_roomy, String, { let mut s = String::with_capacity(100); s.push_str("short"); s });
    by_ref!(take_string_1024, String, long(1024));
    by_ref!(take_string_1025, String, long(1025));
    by_ref!(take_string_long, String, long(5000));
    by_ref!(take_string_long_unicode, String, format!("x{}", "日".repeat(700)));
    by_ref!(take_string_unicode, String, String::from("Ünïcödé ✓"));
    by_value!(take_string_value, String, String::from("moved in"));
    by_value!(take_string_value_long, String, long(3000));
    make!(make_string, String, long(10));
    make!(make_string_long, String, long(2000));
    make!(make_str, &'static str, "static text");
    by_value!(take_box_str, Box<str>, "boxed".into());
    by_value!(take_rc_str, Rc<str>, "counted".into());
    by_ref!(take_cow_borrowed, Cow<str>, Cow::Borrowed("borrowed"));
    by_ref!(take_cow_owned, Cow<str>, Cow::Owned(String::from("owned")));
    by_value!(take_cow_value, Cow<str>, Cow::Borrowed("by value"));
    by_ref!(take_cow_slice, Cow<[i32]>, Cow::Owned(vec![4, 5]));
    by_ref!(take_pathbuf, PathBuf, PathBuf::from("/usr/lib/größe"));
    by_value!(take_path, &Path, Path::new("relative/file.txt"));
    by_ref!(take_osstring, OsString, OsString::from("os string"));
    by_value!(take_osstr, &OsStr, OsStr::new("os str"));
    by_ref!(take_cstring, CString, CString::new("with nul").unwrap());
    by_value!(take_cstr, &CStr, c"borrowed nul");
    make!(make_pathbuf, PathBuf, Path::new("/tmp").join("made"));
    by_value!(take_char, char, 'ß');
    by_ref!(take_chars, [char; 3], ['a', '日', '🦀']);
}

fn sequences() {
    by_value!(take_slice, &[i32], &[1, -2, 3]);
    by_value!(take_slice_empty, &[u8], &[]);
    by_value!(take_slice_points, &[Point], &[point(1), point(2)]);
    by_value!(take_slice_strs, &[&str], &["one", "two", ""]);
    by_value!(take_slice_long, &[u16], &[7; 333]);
    by_ref!(take_vec, Vec<i32>, vec![10, 20, 30]);
    by_ref!(take_vec_empty, Vec<i32>, Vec::new());
    by_ref!(take_vec_roomy, Vec<u8>, { let mut v = Vec::with_capacity(64); v.extend([1, 2, 3]); v });
    by_ref!(take_vec_unit, Vec<()>, vec![(); 3]);
    by_ref!(take_vec_100, Vec<usize>, (0..100).collect());
    by_ref!(take_vec_101, Vec<usize>, (0..101).collect());
    by_ref!(take_vec_long, Vec<u64>, (0..2500).collect());
    by_ref!(take_vec_strings, Vec<String>, vec!["a".into(), long(1500), "".into(), "ü".into()]);
    by_ref!(take_vec_structs, Vec<Point>, (0..4).map(point).collect());
    by_ref!(take_vec_named, Vec<Named>, (0..3).map(named).collect());
    by_ref!(take_vec_nested, Vec<Vec<i16>>, vec![vec![1], vec![], vec![2, 3]]);
    by_ref!(take_vec_deep, Vec<Vec<Vec<u8>>>, vec![vec![vec![1, 2], vec![]], vec![], vec![vec![3]]]);
    by_ref!(take_vec_options, Vec<Option<i32>>, vec![Some(1), None, Some(-3)]);
    by_ref!(take_vec_boxes, Vec<Box<i32>>, vec![Box::new(5), Box::new(6)]);
    by_ref!(take_vec_many_strings, Vec<String>, (0..130).map(|i| format!("s{}", i)).collect());
    by_value!(take_vec_value, Vec<f64>, vec![1.5, -0.25, 1e10]);
    make!(make_vec, Vec<i32>, (1..6).collect());
    make!(make_vec_strings, Vec<String>, vec![long(3), long(4)]);
    by_value!(take_box_slice, Box<[u8]>, vec![9, 8].into_boxed_slice());
    by_ref!(take_deque, VecDeque<i32>, (1..5).collect());
    by_ref!(take_deque_wrapped, VecDeque<i32>, { let mut d: VecDeque<i32> = (0..7).collect(); d.push_front(-1); d.push_front(-2); d.pop_back(); d });
    by_ref!(take_deque_strings, VecDeque<String>, { let mut d: VecDeque<String> = VecDeque::with_capacity(4); for i in 0..7 { if d.len() == 4 { d.pop_front(); } d.push_back(long(i)); } d });
    by_ref!(take_deque_long, VecDeque<u16>, { let mut d: VecDeque<u16> = (0..256).collect(); for i in 0..200 { d.pop_front(); d.push_back(1000 + i); } d });
    by_ref!(take_deque_empty, VecDeque<u8>, VecDeque::new());
    by_ref!(take_heap, BinaryHeap<i32>, vec![3, 9, 1].into());
    by_ref!(take_list, LinkedList<String>, ["x", "y", "z"].map(String::from).into());
    by_ref!(take_list_long, LinkedList<u32>, (0..140).collect());
    by_ref!(take_list_empty, LinkedList<u32>, LinkedList::new());
    by_ref!(take_array, [i16; 4], [1, 2, -3, 4]);
    by_value!(take_array_value, [u8; 5], [5, 4, 3, 2, 1]);
    by_ref!(take_array_strings, [String; 2], [long(2), long(5)]);
    by_ref!(take_array_nested, [[u8; 2]; 3], [[1, 2], [3, 4], [5, 6]]);
    by_ref!(take_array_long, [u32; 150], std::array::from_fn(|i| i as u32 * 3));
}

fn maps() {
    by_ref!(take_hashmap, HashMap<String, i32>, [("one", 1), ("two", 2), ("three", 3)].map(|(k, v)| (k.to_string(), v)).into());
    by_ref!(take_hashmap_empty, HashMap<String, i32>, HashMap::new());
    by_ref!(take_hashmap_emptied, HashMap<i32, i32>, { let mut m: HashMap<i32, i32> = (0..20).map(|i| (i, i)).collect(); m.retain(|k, _| k % 5 == 0); m });
    by_ref!(take_hashmap_bytes, HashMap<u32, Vec<u8>>, (1..6).map(|i| (i * 1000, (0..i as u8).collect())).collect());
    by_ref!(take_hashmap_strs, HashMap<&'static str, Point>, [("a", point(1)), ("b", point(2))].into());
    by_ref!(take_hashmap_90, HashMap<u64, String>, (0..90).map(|i| (i * i, format!("v{}", i))).collect());
    by_ref!(take_hashmap_long, HashMap<i32, bool>, (0..700).map(|i| (i, i % 3 == 0)).collect());
    by_ref!(take_hashmap_points, HashMap<Point, u8>, [(point(3), 3), (point(4), 4)].into());
    by_ref!(take_hashmap_tuples, HashMap<(u8, u8), i32>, [((1, 2), 12), ((3, 4), 34)].into());
    by_ref!(take_hashmap_chars, HashMap<char, bool>, [('x', true), ('ß', false)].into());
    by_ref!(take_hashmap_nested, HashMap<String, Vec<Option<i32>>>, [("a".to_string(), vec![Some(1), None]), ("b".to_string(), vec![])].into());
    by_ref!(take_hashmap_maps, HashMap<u8, HashMap<u8, u8>>, [(1, [(2, 3)].into()), (4, HashMap::new())].into());
    by_value!(take_hashmap_value, HashMap<i64, f32>, [(-1, 0.5), (1 << 40, 2.0)].into());
    make!(make_hashmap, HashMap<String, usize>, (0..5).map(|i| (long(i), i)).collect());
    by_ref!(take_hashset, HashSet<i32>, [4, 5, 6, 7].into());
    by_ref!(take_hashset_strings, HashSet<String>, [long(1), long(2), long(3)].into());
    by_ref!(take_hashset_empty, HashSet<u8>, HashSet::new());
    by_ref!(take_hashset_long, HashSet<u16>, (0..300).collect());
    by_ref!(take_btreemap, BTreeMap<String, i32>, [("z", 26), ("a", 1), ("m", 13)].map(|(k, v)| (k.to_string(), v)).into());
    by_ref!(take_btreemap_empty, BTreeMap<u8, u8>, BTreeMap::new());
    by_ref!(take_btreemap_11, BTreeMap<i32, i64>, (0..11).map(|i| (i, i as i64 * -10)).collect());
    by_ref!(take_btreemap_12, BTreeMap<i32, i64>, (0..12).map(|i| (i, i as i64 * 10)).collect());
    by_ref!(take_btreemap_90, BTreeMap<u16, String>, (0..90).map(|i| (i, format!("v{}", i))).collect());
    by_ref!(take_btreemap_long, BTreeMap<u32, u8>, (0..2000).map(|i| (i * 2, i as u8)).collect());
    by_ref!(take_btreemap_removed, BTreeMap<u32, u32>, { let mut m: BTreeMap<u32, u32> = (0..400).map(|i| (i, i)).collect(); m.retain(|k, _| k % 9 == 4); m });
    by_ref!(take_btreemap_points, BTreeMap<Point, Vec<u8>>, [(point(1), vec![1]), (point(2), vec![])].into());
    by_value!(take_btreemap_value, BTreeMap<char, u128>, [('b', 1 << 100), ('a', 7)].into());
    make!(make_btreemap, BTreeMap<i8, &'static str>, [(-1, "minus"), (1, "plus")].into());
    by_ref!(take_btreeset, BTreeSet<i32>, [5, 1, 3].into());
    by_ref!(take_btreeset_strings, BTreeSet<String>, (0..30).map(long).collect());
    by_ref!(take_btreeset_long, BTreeSet<u64>, (0..500).collect());
    by_ref!(take_btreeset_empty, BTreeSet<u64>, BTreeSet::new());
}

fn choices() {
    by_value!(take_option, Option<i32>, Some(-7));
    by_value!(take_option_none, Option<i32>, None);
    by_ref!(take_option_ref, Option<u8>, Some(200));
    by_ref!(take_option_string, Option<String>, Some(long(6)));
    by_ref!(take_option_string_none, Option<String>, None);
    by_value!(take_option_pointer, Option<&Point>, { static P: Point = Point { x: 1, y: 2 }; Some(&P) });
    by_value!(take_option_pointer_none, Option<&Point>, None);
    by_value!(take_option_box, Option<Box<Point>>, Some(Box::new(point(9))));
    by_value!(take_option_box_none, Option<Box<Point>>, None);
    by_ref!(take_option_nested, Option<Option<u16>>, Some(Some(3)));
    by_ref!(take_option_nested_none, Option<Option<u16>>, Some(None));
    by_ref!(take_option_bool, Option<bool>, Some(false));
    by_ref!(take_option_char, Option<char>, Some('c'));
    by_ref!(take_option_nonzero, Option<NonZeroU32>, NonZeroU32::new(5));
    by_ref!(take_option_vec, Option<Vec<u8>>, Some(vec![1, 2]));
    by_ref!(take_option_u128, Option<u128>, Some(u128::MAX));
    by_ref!(take_option_str, Option<&str>, Some("some"));
    make!(make_option, Option<i64>, Some(1 << 50));
    make!(make_option_none, Option<String>, None);
    make!(make_option_string, Option<String>, Some(long(8)));
    by_value!(take_result_ok, Result<i32, String>, Ok(5));
    by_value!(take_result_err, Result<i32, String>, Err(long(9)));
    by_ref!(take_result_vec, Result<Vec<i32>, u8>, Ok(vec![1, 2]));
    by_ref!(take_result_unit, Result<(), String>, Ok(()));
    make!(make_result_ok, Result<u64, u64>, Ok(3));
    make!(make_result_err, Result<String, Point>, Err(point(2)));
    make!(make_result_option, Result<Option<i32>, String>, Ok(Some(4)));
}

fn pointers() {
    by_value!(take_box, Box<i32>, Box::new(77));
    by_value!(take_box_struct, Box<Named>, Box::new(named(2)));
    by_ref!(take_box_ref, Box<Point>, Box::new(point(3)));
    by_ref!(take_box_vec, Box<Vec<i32>>, Box::new(vec![1, 2]));
    make!(make_box, Box<Point>, Box::new(point(4)));
    let rc = Rc::new(point(5));
    let also = (Rc::clone(&rc), Rc::downgrade(&rc), Rc::downgrade(&rc));
    by_ref!(take_rc, Rc<Point>, Rc::new(point(6)));
    by_ref!(take_rc_shared, Rc<Point>, Rc::clone(&rc));
    by_value!(take_rc_value, Rc<String>, Rc::new(long(4)));
    by_value!(take_rc_byte, Rc<u8>, Rc::new(4));
    by_ref!(take_weak, Weak<Point>, Rc::downgrade(&rc));
    by_ref!(take_weak_dead, Weak<Point>, { let gone = Rc::new(point(1)); Rc::downgrade(&gone) });
    by_ref!(take_weak_new, Weak<Point>, Weak::new());
    std::hint::black_box(also);
    make!(make_rc, Rc<i32>, Rc::new(12));
    let arc = Arc::new(Mutex::new(vec![1, 2, 3]));
    let more = (Arc::clone(&arc), Arc::downgrade(&arc));
    by_ref!(take_arc, Arc<Mutex<Vec<i32>>>, Arc::clone(&arc));
    by_ref!(take_arc_weak, std::sync::Weak<Mutex<Vec<i32>>>, Arc::downgrade(&arc));
    by_value!(take_arc_value, Arc<String>, Arc::new(long(3)));
    by_value!(take_arc_str, Arc<str>, "shared text".into());
    by_value!(take_arc_slice, Arc<[u16]>, vec![1u16, 2].into());
    make!(make_arc, Arc<Point>, Arc::new(point(8)));
    std::hint::black_box(more);
}

fn cells() {
    by_ref!(take_cell, Cell<i32>, Cell::new(3));
    by_ref!(take_cell_option, Cell<Option<char>>, Cell::new(Some('q')));
    by_ref!(take_refcell, RefCell<Point>, RefCell::new(point(1)));
    by_ref!(take_refcell_vec, RefCell<Vec<String>>, RefCell::new(vec![long(2)]));
    {
        #[inline(never)]
        fn take_refcell_borrowed(v: &RefCell<String>) {
            std::hint::black_box((v, line!()));
        }
        let v = RefCell::new(long(7));
        let mut inner = v.borrow_mut();
        inner.push('!');
        want::expect("take_refcell_borrowed", "v", &v, true);
        take_refcell_borrowed(&v);
    }
    by_ref!(take_mutex, Mutex<i32>, Mutex::new(44));
    by_ref!(take_mutex_string, Mutex<String>, Mutex::new(long(5)));
    {
        #[inline(never)]
        fn take_mutex_locked(v: &Mutex<Point>) {
            std::hint::black_box((v, line!()));
        }
        let v = Mutex::new(point(13));
        want::expect("take_mutex_locked", "v", &v, true);
        let guard = v.lock().unwrap();
        take_mutex_locked(&v);
        drop(guard);
    }
    by_ref!(take_rwlock, RwLock<Vec<u8>>, RwLock::new(vec![1, 2, 3]));
    by_ref!(take_oncelock, OnceLock<String>, { let c = OnceLock::new(); c.set(long(4)).unwrap(); c });
    by_ref!(take_oncelock_empty, OnceLock<String>, OnceLock::new());
    by_ref!(take_atomic, AtomicUsize, AtomicUsize::new(1 << 60));
    by_ref!(take_atomic_small, AtomicI16, AtomicI16::new(-5));
    by_ref!(take_atomic_bool, AtomicBool, AtomicBool::new(true));
    make!(make_cell, Cell<u64>, Cell::new(99));
    make!(make_mutex, Mutex<u8>, Mutex::new(9));
}

fn numbers() {
    by_value!(take_u128, u128, u128::MAX - 5);
    by_value!(take_i128, i128, i128::MIN + 5);
    by_value!(take_nonzero, NonZeroU32, NonZeroU32::new(17).unwrap());
    by_value!(take_wrapping, Wrapping<i32>, Wrapping(-9));
    by_value!(take_f32, f32, 0.1);
    by_value!(take_tuple, (u8, i64), (1, -2));
    by_ref!(take_tuple_mixed, (String, bool, char), (long(3), true, 'z'));
    by_ref!(take_tuple_one, (u16,), (300,));
    by_ref!(take_tuple_nested, ((u8, u8), Vec<u8>, Option<u8>, [u8; 2]), ((1, 2), vec![3], None, [4, 5]));
    by_ref!(take_phantom, PhantomData<String>, PhantomData);
    by_ref!(take_range, Range<i32>, 3..9);
    by_ref!(take_range_inclusive, RangeInclusive<u8>, 1..=5);
    by_value!(take_duration, Duration, Duration::from_millis(1500));
    by_ref!(take_duration_ref, Duration, Duration::new(3, 7));
    by_ref!(take_duration_zero, Duration, Duration::ZERO);
    by_ref!(take_duration_long, Duration, Duration::MAX);
    make!(make_duration, Duration, Duration::from_secs(3600));
    by_value!(take_instant, Instant, Instant::now());
    by_ref!(take_instant_ref, Instant, Instant::now());
    by_value!(take_systemtime, SystemTime, SystemTime::now());
    by_ref!(take_systemtime_epoch, SystemTime, SystemTime::UNIX_EPOCH);
    by_ref!(take_systemtime_leap, SystemTime, SystemTime::UNIX_EPOCH + Duration::new(951_782_400 + 86399, 120_000_000));
    by_ref!(take_systemtime_before, SystemTime, SystemTime::UNIX_EPOCH - Duration::from_millis(1500));
    by_ref!(take_option_duration, Option<Duration>, Some(Duration::from_micros(10)));
}

fn main() {
    text();
    sequences();
    maps();
    choices();
    pointers();
    cells();
    numbers();
}
