# Steps a program with gdb and prints where it stops and what is there, a line of JSON each: run as `gdb -batch -x stepping.py PROGRAM`.
# STEP_COMMANDS are the ways to step; each runs the program from STEP_MAIN to its end. STEP_VALUES is the way whose stops have values.
# STEP_SKIP are patterns of functions that are not stepped into.
# STEP_HOOK is an object file that describes _Unwind_DebugHook: gdb follows exceptions by that function of libgcc, and only with its parameters.
import gdb
import json
import os
import re

for setting in ("pagination off", "confirm off", "style enabled off", "debuginfod enabled off", "debug-file-directory /nonexistent",
                "width 0", "startup-with-shell on", "print thread-events off", "print elements 200", "print repeats unlimited", "print finish off"):
    gdb.execute("set " + setting)
for kind in ("quit", "corefile"): # gdb has bugs in values of several pieces: they are not compared
    gdb.execute("maintenance set internal-error %s no" % kind)
for signal in ("SIGUSR1", "SIGUSR2"):
    gdb.execute("handle %s nostop noprint pass" % signal, to_string=True)

DEPTH = 3  # pointers to objects are followed so far
ELEMENTS = 100


def library(name):
    """Reports types that are shown as what they hold, not as what they consist of, or that nobody can compare."""
    return name is not None and name.startswith(("__va_list", "pthread_t", "std::", "__gnu_cxx::", "alloc::", "core::", "hashbrown::", "&str", "&[", "&mut [", "&dyn", "dyn "))


def members(v, depth):
    out = []
    for f in v.type.fields():
        if f.artificial or (f.name or "").startswith("_vptr"):
            continue
        if getattr(f, "bitpos", None) is None: # static; a virtual base, which we do not show
            continue
        m = v[f]
        if f.is_base_class or not f.name:
            inner = encode(m, depth)
            if inner["k"] == "object":
                out += inner["members"]
            if inner["k"] == "object" or f.is_base_class:
                continue
        out.append([f.name or "", encode(m, depth)])
    return out


def pointer(v, t, depth):
    to = t.target().strip_typedefs()
    if "synthetic pointer" in v.format_string():
        out = {"k": "synthetic"}
        if to.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and not library(to.name) and to.fields():
            out["to"] = encode(v.dereference(), depth - 1)
        return out
    if (t.name or "").startswith("&") and not library(t.name) and to.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return encode(v.dereference(), depth) # a reference of Rust's
    out = {"k": "pointer", "v": int(v)}
    if to.code == gdb.TYPE_CODE_FUNC:
        out["k"] = "function"
    elif to.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR) and to.sizeof == 1 and to.name in ("char",):
        try:
            out["text"] = v.string("latin-1", length=-1)[:200]
        except gdb.error:
            pass
    elif to.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and int(v) and depth > 0 and not library(to.name):
        if to.sizeof and to.fields():
            out["to"] = encode(v.dereference(), depth - 1)
    elif library(to.name):
        out["k"] = "library"
    return out


def encode(v, depth):
    """A value as JSON: its kind, and what belongs to the kind."""
    try:
        return known(v, depth)
    except gdb.MemoryError:
        return {"k": "unreadable"}
    except KeyboardInterrupt: # an internal error of gdb's
        return {"k": "unknown"}
    except (gdb.error, RuntimeError, ValueError, UnicodeError) as e:
        if "optimized out" in str(e):
            return {"k": "gone"}
        return {"k": "unknown", "why": str(e)}


def known(v, depth):
    t = v.type.strip_typedefs()
    code = t.code
    if library(v.type.name) and code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return {"k": "gone"} if v.is_optimized_out else {"k": "library"}
    if code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return encode(v.referenced_value(), depth)
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        parts = members(v if v.type.code == code else v.cast(t), depth)
        made = library(v.type.name) or library(t.name)
        if t.sizeof == 0 or made and v.is_optimized_out: # in parts or whole: nothing to compare
            return {"k": "empty"}
        if not parts and v.is_optimized_out:
            return {"k": "gone"}
        names = [name for name, _ in parts]
        if made or names in (["pointer", "vtable"], ["data_ptr", "length"]) or any(n.startswith("_ref__") for n in names):
            return {"k": "gone"} if parts and all(p["k"] == "gone" for _, p in parts) else {"k": "library"}
        return {"k": "object", "members": parts}
    if code == gdb.TYPE_CODE_ARRAY:
        lo, hi = t.range()
        e = t.target().strip_typedefs()
        if library(e.name):
            return {"k": "library"}
        if e.code == gdb.TYPE_CODE_INT and e.name == "char":
            if v.is_optimized_out:
                return {"k": "gone"}
            return {"k": "text", "hex": bytes(int(v[i]) & 255 for i in range(lo, hi + 1)).hex()}
        return {"k": "array", "elements": [encode(v[i], depth) for i in range(lo, min(hi + 1, lo + ELEMENTS))], "more": max(hi - lo + 1 - ELEMENTS, 0)}
    if v.is_optimized_out:
        return {"k": "gone"}
    if code == gdb.TYPE_CODE_PTR:
        return pointer(v, t, depth)
    if code == gdb.TYPE_CODE_BOOL:
        return {"k": "bool", "v": int(v) != 0}
    if code == gdb.TYPE_CODE_ENUM:
        return {"k": "enum", "v": str(int(v)), "name": str(v)}
    if code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR):
        return {"k": "int", "v": str(int(v)), "size": t.sizeof}
    if code == gdb.TYPE_CODE_FLT:
        return {"k": "float", "v": v.format_string(), "size": t.sizeof}
    return {"k": "unknown", "why": "type code %d" % code}


# What the compiler made.
MADE = re.compile("vtt$|__(in_chrg|vtt_parm|closure|coro_.*|promise|vla_expr.*|for_(range|begin|end)|(range|begin|end)[0-9]+)$")


def valued(s):
    """Not labels, and not enumerators."""
    if s.type is None or s.type.name == "__CORE_ADDR":
        return False
    if s.is_constant:
        return s.type.code != gdb.TYPE_CODE_ENUM or s.name not in (f.name for f in s.type.fields())
    return s.is_argument or s.is_variable


def values(frame):
    """Arguments and variables of a frame, the innermost of a name first."""
    out = {}
    try:
        block = frame.block()
    except RuntimeError:
        return out
    while block is not None:
        for s in block:
            if MADE.match(s.name or "") or not valued(s) or not s.name or s.name in out:
                continue
            if s.is_artificial if hasattr(s, "is_artificial") else False:
                continue
            try:
                v = s.value(frame)
            except KeyboardInterrupt:
                out[s.name] = {"k": "unknown"}
                continue
            except gdb.error as e:
                out[s.name] = {"k": "gone" if "optimized out" in str(e) else "unknown", "why": str(e)}
                continue
            out[s.name] = encode(v, DEPTH)
            out[s.name]["line"] = s.line
            out[s.name]["argument"] = s.is_argument
            out[s.name]["static"] = s.addr_class == gdb.SYMBOL_LOC_STATIC
        if block.function is not None:
            break
        block = block.superblock
    return out


def stand(frame):
    sal = frame.find_sal()
    return {"line": sal.line if sal.symtab else 0, "function": frame.name() or "?", "pc": frame.pc()}


def run(way):
    gdb.execute("run > /dev/null 2>&1", to_string=True)
    describe_hook()
    last, entered, unlined, shown = "", None, False, None
    for _ in range(3000):
        try:
            frame = gdb.newest_frame()
        except gdb.error:
            print("@" + json.dumps({"way": way, "what": "end"}))
            return
        at = stand(frame)
        if at["line"] == 0:
            try:
                if frame.function() is not None: # code without a line in a function that has lines
                    gdb.execute("nexti", to_string=True)
                    unlined = True
                    continue
                gdb.execute("finish", to_string=True)
            except gdb.error:
                gdb.execute("continue", to_string=True)
            continue
        if unlined and shown == (at["line"], at["function"]): # the step is still in its line
            unlined = False
            gdb.execute(last or way, to_string=True)
            continue
        unlined, shown = False, (at["line"], at["function"])
        command = way
        at["way"] = way
        if way == os.environ.get("STEP_VALUES"):
            at["values"] = values(frame)
            older = frame.older()
            if at["function"] != entered and older is not None and older.type() in (gdb.NORMAL_FRAME, gdb.INLINE_FRAME) and older.find_sal().line:
                at["caller"] = values(older)
                at["callerLine"] = older.find_sal().line
            entered = at["function"]
        print("@" + json.dumps(at))
        if way == "out":
            main = at["function"] in ("main", "main()") or at["function"].endswith("::main")
            command = "finish" if last == "step" and not main else "step"
        last = command
        try:
            gdb.execute(command, to_string=True)
        except gdb.error as e:
            print("@" + json.dumps({"way": way, "what": "error: %s" % e}))
            return
    print("@" + json.dumps({"way": way, "what": "more"}))


def describe_hook():
    """Once the program is loaded: before that the function has no address."""
    hook = os.environ.pop("STEP_HOOK", "")
    if not hook:
        return
    try:
        at = int(gdb.parse_and_eval("(long)&_Unwind_DebugHook"))
    except gdb.error:
        return
    gdb.execute("add-symbol-file %s -s .text %#x" % (hook, at), to_string=True)


for functions in os.environ.get("STEP_SKIP", "").split():
    gdb.execute("skip -rfu " + functions, to_string=True)
gdb.execute("break " + os.environ.get("STEP_MAIN", "main"), to_string=True)
for way in os.environ.get("STEP_COMMANDS", "next step out").split():
    run(way)
