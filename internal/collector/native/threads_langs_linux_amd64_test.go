package native

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/waits"
)

const rustLocks = `
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use std::{io, thread};

static ORDERS: Mutex<u64> = Mutex::new(1);
static STOCK: Mutex<u64> = Mutex::new(2);
static PRICES: RwLock<u64> = RwLock::new(3);
static START: Once = Once::new();
struct Shop { name: String, orders: Mutex<Vec<u64>>, stock: RwLock<Vec<u64>> }

#[inline(never)]
fn sell(meet: &Barrier) -> u64 {
    let o = ORDERS.lock().unwrap();
    meet.wait();
    let s = STOCK.lock().unwrap();
    *o + *s
}
#[inline(never)]
fn refill(meet: &Barrier) -> u64 {
    let s = STOCK.lock().unwrap();
    meet.wait();
    let o = ORDERS.lock().unwrap();
    *o + *s
}
#[inline(never)]
fn sell_in(shop: &Shop, meet: &Barrier) -> u64 {
    let o = shop.orders.lock().unwrap();
    meet.wait();
    let s = shop.stock.write().unwrap();
    o[0] + s[0]
}
#[inline(never)]
fn refill_in(shop: &Shop, meet: &Barrier) -> u64 {
    let s = shop.stock.read().unwrap();
    meet.wait();
    let o = shop.orders.lock().unwrap();
    o[0] + s[0] + shop.name.len() as u64
}
#[inline(never)]
fn twice() -> u64 {
    let a = ORDERS.lock().unwrap();
    let b = ORDERS.lock().unwrap();
    *a + *b
}
#[inline(never)]
fn receive(r: mpsc::Receiver<u64>) -> u64 { r.recv().unwrap_or(0) }
#[inline(never)]
fn wait_for(m: &Mutex<bool>, c: &Condvar) -> bool { let mut g = m.lock().unwrap(); while !*g { g = c.wait(g).unwrap(); } *g }
#[inline(never)]
fn read_prices() -> u64 { *PRICES.read().unwrap() }
#[inline(never)]
fn park_here() { loop { thread::park(); } }
#[inline(never)]
fn begin() { START.call_once(|| park_here()) }
#[inline(never)]
fn contend(first: usize) { let mut n = first; loop {
    let (a, b) = (ORDERS.lock().unwrap(), STOCK.lock().unwrap());
    n += (*a + *b) as usize;
    if n == 1 { return; }
} }

fn main() {
    let what = std::env::args().nth(1).unwrap();
    let meet = Arc::new(Barrier::new(2));
    let (m1, m2) = (meet.clone(), meet.clone());
    let held;
    match what.as_str() {
        "mutex" => {
            thread::Builder::new().name("seller".into()).spawn(move || sell(&m1)).unwrap();
            thread::Builder::new().name("refiller".into()).spawn(move || refill(&m2)).unwrap();
        }
        "shop" => {
            let shop = Arc::new(Shop { name: "corner".into(), orders: Mutex::new(vec![1]), stock: RwLock::new(vec![2]) });
            let (a, b) = (shop.clone(), shop);
            thread::spawn(move || sell_in(&a, &m1));
            thread::spawn(move || refill_in(&b, &m2));
        }
        "twice" => { thread::spawn(twice); }
        "contend" => { for i in 0..6 { thread::spawn(move || contend(i)); } }
        _ => {
            held = PRICES.write().unwrap();
            let (tx, rx) = mpsc::channel();
            thread::spawn(move || receive(rx));
            thread::spawn(|| wait_for(&Mutex::new(false), &Condvar::new()));
            thread::spawn(read_prices);
            thread::spawn(begin);
            thread::spawn(begin);
            let parked = thread::spawn(park_here);
            thread::spawn(move || parked.join().unwrap());
            std::mem::forget(tx);
            std::mem::forget(held);
        }
    }
    println!("ready");
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    println!("eintr={}", if read.is_ok() { 0 } else { 1 });
    std::process::exit(0);
}
`

func rustVariants(t *testing.T, source string, run func(t *testing.T, prog string)) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "rustc")
	for _, flags := range []string{"", "-O"} {
		t.Run("rustc"+flags, func(t *testing.T) {
			run(t, build(t, "shop.rs", source, append([]string{"rustc", "-g", "--edition=2021"}, strings.Fields(flags)...)...))
		})
	}
}

// TestRustDeadlocks: Rust's locks do not say who holds them; their guards among the variables do.
func TestRustDeadlocks(t *testing.T) {
	rustVariants(t, rustLocks, func(t *testing.T, prog string) {
		for _, c := range []struct {
			what string
			size int
			says []string
		}{
			{"mutex", 2, []string{"sell (shop.rs:15) for mutex", "ORDERS", "refill (shop.rs:22) for mutex", "STOCK", "seller",
				"refiller"}},
			{"shop", 2, []string{"sell_in (shop.rs:29) for rwlock-write", "refill_in (shop.rs:36) for mutex"}},
			{"twice", 1, []string{"twice (shop.rs:42) for mutex", "ORDERS", "which it holds itself"}},
		} {
			s := startLocks(t, prog, nil, c.what)
			// no variable says which lock is held: no owner is better than a wrong one
			if c.what == "twice" && strings.HasSuffix(t.Name(), "-O") {
				r := kinds(t, s, map[string]string{"shop::twice": "mutex"})
				if w := row(r, "shop::twice").WaitingFor; w.Owner != 0 || len(r.Deadlocks) > 0 {
					t.Errorf("twice: %+v, want no owner", w)
				}
				finishQuietly(t, s)
				continue
			}
			r := threadsOf(t, s, func(r *waits.Report) bool { return len(r.Deadlocks) == 1 })
			d := r.Deadlocks[0]
			if len(d.Threads) != c.size || !d.Probable {
				t.Errorf("%s: %d threads, probable %v: %s", c.what, len(d.Threads), d.Probable, d.Text)
			}
			for _, w := range c.says {
				if !strings.Contains(d.Text, w) {
					t.Errorf("%s: %q does not say %q", c.what, d.Text, w)
				}
			}
			t.Logf("%s: %s", c.what, d.Text)
			finishQuietly(t, s)
		}
	})
}

// kinds checks that the thread in each function waits for what is wanted.
func kinds(t *testing.T, s *started, want map[string]string) *waits.Report {
	t.Helper()
	return threadsOf(t, s, func(r *waits.Report) bool {
		for f, kind := range want {
			if !slices.ContainsFunc(r.Threads, func(one waits.Row) bool {
				return one.WaitingFor != nil && one.WaitingFor.Kind == kind && strings.HasPrefix(one.Backtrace[0], f+" ")
			}) {
				return false
			}
		}
		return true
	})
}

// TestRustWaits: what Rust's other ways to wait are called.
func TestRustWaits(t *testing.T) {
	rustVariants(t, rustLocks, func(t *testing.T, prog string) {
		s := startLocks(t, prog, nil, "all")
		r := kinds(t, s, map[string]string{"shop::receive": "channel", "shop::wait_for": "condvar",
			"shop::read_prices": "rwlock-read", "shop::park_here": "park", "shop::begin": "once",
			"shop::main::{{closure}}": "join"})
		if !slices.ContainsFunc(r.Threads, func(one waits.Row) bool {
			return one.WaitingFor != nil && one.WaitingFor.Kind == "join" && one.WaitingFor.Owner != 0
		}) {
			t.Error("no thread joins another")
		}
		if len(r.Deadlocks) > 0 {
			t.Errorf("deadlock: %s", r.Deadlocks[0].Text)
		}
		finishQuietly(t, s)
		s = startLocks(t, prog, nil, "contend")
		for range 20 {
			r, err := s.Threads(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Deadlocks) > 0 {
				t.Fatalf("contention is called a deadlock: %s", r.Deadlocks[0].Text)
			}
		}
		finishQuietly(t, s)
	})
}

const cppLocks = `
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <barrier>
#include <unistd.h>
namespace bank {
struct Account { long balance = 1; std::mutex mutex; };
Account checking, savings;
std::shared_mutex rates;
std::recursive_mutex again;
std::timed_mutex slow;
std::condition_variable changed;
std::latch opened(1);
std::counting_semaphore<4> desks(0);
std::barrier<> meet(2);
std::atomic<int> number{0};
std::once_flag once;
volatile int sink;
__attribute__((noinline)) long move(Account &from, Account &to) {
	std::lock_guard<std::mutex> a(from.mutex);
	meet.arrive_and_wait();
	std::lock_guard<std::mutex> b(to.mutex);
	return from.balance + to.balance;
}
__attribute__((noinline)) void await_change() { std::unique_lock<std::mutex> l(checking.mutex); changed.wait(l); }
__attribute__((noinline)) void await_latch() { opened.wait(); sink = 1; }
__attribute__((noinline)) void await_desk() { desks.acquire(); sink = 1; }
__attribute__((noinline)) void await_number() { number.wait(0); sink = 1; }
__attribute__((noinline)) void read_rates() { std::shared_lock<std::shared_mutex> l(rates); }
__attribute__((noinline)) void write_rates() { std::unique_lock<std::shared_mutex> l(rates); }
__attribute__((noinline)) void try_slow() { (void)slow.try_lock_for(std::chrono::seconds(300)); }
__attribute__((noinline)) int forever() { number.wait(0); return 1; }
__attribute__((noinline)) int table() { static int t = forever(); return t; }
__attribute__((noinline)) void set_up() { std::call_once(once, [] { forever(); }); }
__attribute__((noinline)) void nest() { std::lock_guard<std::recursive_mutex> a(again); std::lock_guard<std::recursive_mutex> b(again); forever(); }
__attribute__((noinline)) void await_nest() { std::lock_guard<std::recursive_mutex> a(again); }
}
using namespace bank;
int main(int argc, char **argv) {
	static std::mutex held;
	std::unique_lock<std::shared_mutex> l(rates, std::defer_lock);
	if (!strcmp(argv[1], "mutex")) {
		std::thread([] { move(checking, savings); }).detach();
		std::thread([] { move(savings, checking); }).detach();
	} else {
		l.lock();
		slow.lock();
		for (auto f : {await_change, await_latch, await_desk, await_number, read_rates, write_rates, try_slow, set_up, nest}) std::thread(f).detach();
		usleep(50000);
		for (auto f : {await_nest}) std::thread(f).detach();
		for (int i = 0; i < 2; i++) std::thread(table).detach();
		std::thread([] { std::thread t(forever); t.join(); }).detach();
	}
	puts("ready");
	fflush(stdout);
	int n = getchar();
	printf("eintr=%d\n", n == EOF);
	fflush(stdout);
	_exit(0);
}
`

// TestCPPWaits: the standard library's locks have owners, and what has none is named for what it is.
func TestCPPWaits(t *testing.T) {
	strobetest.NeedPtrace(t)
	for _, flags := range []string{"-O0", "-O2"} {
		t.Run(flags, func(t *testing.T) {
			prog := build(t, "bank.cpp", cppLocks, "g++", "-g", "-std=c++20", "-pthread", flags)
			s := startLocks(t, prog, nil, "mutex")
			r := threadsOf(t, s, func(r *waits.Report) bool { return len(r.Deadlocks) == 1 })
			d := r.Deadlocks[0]
			if !strings.Contains(d.Text, "bank::move (bank.cpp:30) for mutex bank::savings.mutex") ||
				!strings.Contains(d.Text, "for mutex bank::checking.mutex") || d.Probable {
				t.Errorf("%s", d.Text)
			}
			t.Log(d.Text)
			finishQuietly(t, s)
			s = startLocks(t, prog, nil, "all")
			r = kinds(t, s, map[string]string{"bank::await_change": "condvar", "bank::await_latch": "latch",
				"bank::await_desk": "semaphore", "bank::await_number": "atomic",
				"bank::read_rates": "rwlock-read", "bank::write_rates": "rwlock-write", "bank::try_slow": "mutex",
				"bank::await_nest": "mutex", "bank::table": "once"})
			if len(r.Deadlocks) > 0 {
				t.Errorf("deadlock: %s", r.Deadlocks[0].Text)
			}
			for _, f := range []string{"bank::read_rates", "bank::write_rates", "bank::try_slow"} {
				if w := row(r, f).WaitingFor; w.Owner != s.pid || w.OwnerKnownBy != "lock" {
					t.Errorf("%s: %+v, want owner %d", f, w, s.pid)
				}
			}
			once := 0
			for _, one := range r.Threads {
				if one.WaitingFor != nil && one.WaitingFor.Kind == "once" {
					once++
					if w := one.WaitingFor; w.Owner == 0 || w.OwnerKnownBy != "stack" {
						t.Errorf("the static variable: %+v, want an owner", w)
					}
				}
			}
			if once != 1 {
				t.Errorf("%d threads wait for a static variable, want 1", once)
			}
			finishQuietly(t, s)
		})
	}
}
