package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/value"
)

// invalid is a VALIDATION_ERROR about one field.
func invalid(field, hint, format string, args ...any) error {
	return fault.New(fault.ValidationError, hint, "%s: %w", field, fmt.Errorf(format, args...))
}

// excerpt shortens client text for an error message.
func excerpt(b []byte) string {
	const limit = 60
	if len(b) <= limit {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:limit]), "") + "…"
}

func kindList() string {
	var names []string
	for k := event.FunctionEnter; k < event.NumKinds; k++ {
		names = append(names, k.String())
	}
	return strings.Join(append(names, uiAction, uiChange), ", ")
}

// States of the channel ui have types of their own: what was done with a user interface, and what changed in it.
const (
	uiChannel = "ui"
	uiAction  = "ui_action"
	uiChange  = "ui_change"
)

// filters is a Request that was checked and compiled, but not yet resolved against a store.
type filters struct {
	req        Request
	kinds      uint32   // bit per kind; 0 = all
	ui         []string // of states, these types of channel ui alone; nil: all states
	name       *regexp.Regexp
	text       *regexp.Regexp
	message    []memberCondition
	ret        *condition
	arg        *condition
	from, to   moment
	clamped    bool // limit was over MaxLimit
	claim      claim
	claimNames []string // of arguments, as the claim calls them
	object     uint64   // of view object
}

// moment is a parsed Moment.
type moment struct {
	set, relative bool
	ns            int64
}

// at returns the moment as nanoseconds since the session's start.
func (m moment) at(newest int64) int64 {
	if m.relative {
		return newest + m.ns
	}
	return m.ns
}

// compile checks everything that can be checked without a store.
func compile(req Request) (*filters, error) {
	f := &filters{req: req}
	for _, check := range []func() error{f.checkKinds, f.checkNames, f.checkValues, f.checkTimes, f.checkPage,
		f.checkView, f.checkClaim, f.checkObject, f.checkCoverage, f.checkThreads, f.checkMissing, f.checkMessage} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Check says what is wrong with a question, before there is anything to ask.
func (r *Request) Check() error {
	_, err := compile(*r)
	return err
}

func (f *filters) checkKinds() error {
	states := false
	for _, name := range f.req.EventType {
		if name == uiAction || name == uiChange {
			f.kinds |= 1 << event.State
			f.ui = append(f.ui, name)
			continue
		}
		states = states || name == event.State.String()
		k, ok := event.KindOf(name)
		if !ok {
			return invalid("eventType", "Allowed: "+kindList()+".", "%q is no event type", excerpt([]byte(name)))
		}
		f.kinds |= 1 << k
	}
	if states {
		f.ui = nil
	}
	return nil
}

func (f *filters) checkNames() error {
	r := &f.req
	if r.Function != nil {
		for field, s := range map[string]string{"equals": r.Function.Equals, "contains": r.Function.Contains,
			"matches": r.Function.Matches} {
			if err := checkLength("function."+field, s); err != nil {
				return err
			}
		}
		var err error
		if f.name, err = compileRegexp("function.matches", r.Function.Matches); err != nil {
			return err
		}
		if *r.Function == (NameFilter{}) {
			r.Function = nil
		}
	}
	if r.SourceFile != nil {
		if err := checkLength("sourceFile", r.SourceFile.Equals+r.SourceFile.Contains); err != nil {
			return err
		}
		if *r.SourceFile == (FileFilter{}) {
			r.SourceFile = nil
		}
	}
	if r.Text != nil {
		if err := checkLength("text.contains", r.Text.Contains); err != nil {
			return err
		}
		var err error
		if f.text, err = compileRegexp("text.matches", r.Text.Matches); err != nil {
			return err
		}
		if *r.Text == (TextFilter{}) {
			r.Text = nil
		}
	}
	if r.ThreadName != nil {
		if err := checkLength("threadName.contains", r.ThreadName.Contains); err != nil {
			return err
		}
		if r.ThreadName.Contains == "" {
			r.ThreadName = nil
		}
	}
	return nil
}

func checkLength(field, s string) error {
	if len(s) > maxPattern {
		return invalid(field, "Ask for a part of it.", "%d bytes long, the limit is %d", len(s), maxPattern)
	}
	return nil
}

// compileRegexp returns nil for "". Go's engine runs in linear time, and its parser refuses repeats that
// would grow the program beyond bounds, so any accepted pattern is safe to run.
func compileRegexp(field, pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	if err := checkLength(field, pattern); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err == nil {
		return re, nil
	}
	hint := "The syntax is RE2: no look-around, no back-references."
	var se *syntax.Error
	if errors.As(err, &se) {
		if at := strings.LastIndex(pattern, se.Expr); at >= 0 && se.Expr != "" {
			return nil, invalid(field, hint, "%s at position %d: %q", se.Code, at, excerpt([]byte(se.Expr)))
		}
		return nil, invalid(field, hint, "%s in %q", se.Code, excerpt([]byte(pattern)))
	}
	return nil, invalid(field, hint, "%w", err)
}

func (f *filters) checkValues() error {
	var err error
	if r := f.req.ReturnValue; r != nil {
		if f.ret, err = compileCondition("returnValue", *r); err != nil {
			return err
		}
		if f.ret == nil {
			f.req.ReturnValue = nil
		}
	}
	a := f.req.Argument
	if a == nil {
		return nil
	}
	if a.Name == "" {
		return invalid("argument.name", "Name the argument, or a path in it, such as p.x or a[2].", "missing")
	}
	if err := checkLength("argument.name", a.Name); err != nil {
		return err
	}
	if f.arg, err = compileCondition("argument", a.ValueFilter); err != nil {
		return err
	}
	if f.arg == nil {
		return invalid("argument", "Add equals, notEquals, isNull, greaterThan or lessThan.", "%q without a condition",
			excerpt([]byte(a.Name)))
	}
	return nil
}

// literal parses one field of a ValueFilter.
func literal(field string, l Literal, numeric bool) (*value.Value, error) {
	if l == "" {
		return nil, nil
	}
	if err := checkLength(field, string(l)); err != nil {
		return nil, err
	}
	if hugeExponent(string(l)) {
		return nil, invalid(field, "No type has such numbers.", "%s is out of range", excerpt([]byte(l)))
	}
	v, err := value.ParseJSON([]byte(l))
	if err != nil {
		return nil, invalid(field, "Give a number, a string, true, false or null.", "%q is not a JSON value",
			excerpt([]byte(l)))
	}
	switch v.Kind() {
	case value.Array, value.Obj:
		return nil, invalid(field, "Compare one part: argument.name may be a path such as p.x or a[2].",
			"%s is not a single value", excerpt([]byte(l)))
	case value.Int, value.Float:
		return &v, nil
	case value.Text:
		if !numeric {
			return &v, nil
		}
		// A client without 64-bit numbers can send them as text.
		if n, ok := textNumber(v.Text()); ok {
			return &n, nil
		}
	}
	if numeric {
		return nil, invalid(field, "Give a number.", "%s is not a number", excerpt([]byte(l)))
	}
	return &v, nil
}

// textNumber reads a number that was sent as a string: decimal or 0x….
func textNumber(s string) (value.Value, bool) {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 64)
		return value.NewUint(n), err == nil
	}
	if s == "" || hugeExponent(s) || !json.Valid([]byte(s)) {
		return value.Value{}, false
	}
	v, err := value.ParseJSON([]byte(s))
	return v, err == nil && (v.Kind() == value.Int || v.Kind() == value.Float)
}

// hugeExponent reports a number beyond the range of every float type (binary128 ends at 1e4932): comparing
// exactly with 1e-999999999 would compute a billion digits.
func hugeExponent(s string) bool {
	if s = strings.TrimSpace(s); s == "" || s[0] == '"' {
		return false
	}
	i := strings.LastIndexAny(s, "eE")
	if i < 0 {
		return false
	}
	n, err := strconv.Atoi(s[i+1:])
	return errors.Is(err, strconv.ErrRange) || err == nil && (n > 5000 || n < -5000)
}

func (f *filters) checkTimes() error {
	var err error
	if f.from, err = f.req.TimeFrom.check("timeFrom"); err != nil {
		return err
	}
	if f.to, err = f.req.TimeTo.check("timeTo"); err != nil {
		return err
	}
	if f.from.set && f.to.set && f.from.relative == f.to.relative && f.from.ns > f.to.ns {
		return invalid("timeFrom", "Swap them.", "%s is after timeTo %s", f.req.TimeFrom, f.req.TimeTo)
	}
	r := &f.req
	for field, n := range map[string]int64{"minDurationNs": r.MinDurationNs, "maxDurationNs": r.MaxDurationNs} {
		if n < 0 {
			return invalid(field, "Give nanoseconds, 0 or more.", "%d is negative", n)
		}
	}
	if r.MaxDurationNs > 0 && r.MinDurationNs > r.MaxDurationNs {
		return invalid("minDurationNs", "Swap them.", "%d is more than maxDurationNs %d", r.MinDurationNs, r.MaxDurationNs)
	}
	return nil
}

func (m Moment) check(field string) (moment, error) {
	if m == "" {
		return moment{}, nil
	}
	ns, rel, err := m.parse(field)
	return moment{set: true, relative: rel, ns: ns}, err
}

// parse reads nanoseconds or a negative duration.
func (m Moment) parse(field string) (ns int64, relative bool, err error) {
	const hint = `Give nanoseconds since the session's start, or a time before the newest event such as "-5s", ` +
		`"-500ms", "-2m".`
	s := string(m)
	if len(s) > 64 {
		return 0, false, invalid(field, hint, "%s is not a time", excerpt([]byte(s)))
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n < 0 {
			return 0, false, invalid(field, hint, "%d is negative and has no unit", n)
		}
		return n, false, nil
	}
	if strings.HasPrefix(s, "-") {
		if d, err := time.ParseDuration(s); err == nil {
			return int64(d), true, nil
		}
	}
	return 0, false, invalid(field, hint, "%q is not a time", s)
}

func (f *filters) checkPage() error {
	r := &f.req
	switch {
	case r.Limit < 0:
		return invalid("limit", "Give 1 to 500; the default is 50.", "%d is negative", r.Limit)
	case r.Offset < 0 || int64(r.Offset) > MaxOffset:
		return invalid("offset", fmt.Sprintf("Give 0 to %d; afterEventId goes on from any event.", MaxOffset),
			"%d is out of range", r.Offset)
	case r.AfterEventID != nil && *r.AfterEventID < 0:
		return invalid("afterEventId", "Give lastEventId of the previous page, or 0 for the start.", "%d is negative",
			*r.AfterEventID)
	case r.AfterEventID != nil && *r.AfterEventID > math.MaxInt64-1:
		return invalid("afterEventId", "Give lastEventId of the previous page.", "%d is out of range", *r.AfterEventID)
	case r.AfterEventID != nil && r.Offset > 0:
		return invalid("offset", "Use afterEventId alone: it goes on where the last page ended.",
			"%d together with afterEventId %d would skip events", r.Offset, *r.AfterEventID)
	case r.WaitMs < 0 || r.WaitMs > MaxWaitMs:
		return invalid("waitMs", fmt.Sprintf("Give 0 to %d, and call again to wait longer.", MaxWaitMs), "%d is out of range",
			r.WaitMs)
	case r.Under < 0:
		return invalid("under", "Give the id of a function_enter event.", "%d is negative", r.Under)
	}
	if r.Limit == 0 {
		if r.Limit = DefaultLimit; r.View == "table" && r.AfterEventID == nil {
			r.Limit = DefaultRows
		}
	}
	if r.Limit > MaxLimit {
		r.Limit, f.clamped = MaxLimit, true
	}
	for field, id := range map[string]*int64{"threadId": r.ThreadID, "pid": r.PID} {
		if id != nil && (*id < 0 || *id > math.MaxInt32) {
			return invalid(field, "Take it from an event with verbose true.", "%d is out of range", *id)
		}
	}
	return nil
}

func (f *filters) checkView() error {
	r := &f.req
	if r.Order == "" {
		r.Order = Orders[0]
	}
	if r.View == "" {
		r.View = Views[0]
	}
	if !slices.Contains(Orders, r.Order) && r.View != "table" {
		return invalid("order", "Allowed: "+strings.Join(Orders, ", ")+".", "%q is no order", excerpt([]byte(r.Order)))
	}
	if !slices.Contains(Views, r.View) {
		return invalid("view", "Allowed: "+strings.Join(Views, ", ")+".", "%q is no view", excerpt([]byte(r.View)))
	}
	if r.Order == "thread" && r.AfterEventID != nil {
		return invalid("order", "Use offset to page through order thread, or order time with the cursor.",
			"thread does not go with afterEventId, whose order is time")
	}
	if len(r.Fields) > 0 && !slices.Contains(fieldViews, r.View) {
		return invalid("fields", "Ask views "+strings.Join(fieldViews, ", ")+".", "view %s takes no fields", r.View)
	}
	if r.View == "events" {
		return nil
	}
	whole := Request{SessionID: r.SessionID, View: r.View, Order: r.Order, Limit: r.Limit, MaxTokens: r.MaxTokens,
		WaitMs: r.WaitMs, Verbose: r.Verbose, Offset: r.Offset, Cursor: r.Cursor}
	if r.View == "summary" && !reflect.DeepEqual(*r, whole) {
		return invalid("view", "Ask views tree, stats, table or invariants for a part.", "summary is of the whole session "+
			"and takes no filters")
	}
	if whole.Under = r.Under; r.View == "why" && (r.Under == 0 || !reflect.DeepEqual(*r, whole)) {
		return invalid("under", "Give its id, e.g. a #id of view tree, and no filters.", "view why is of one event")
	}
	if r.View == "request" {
		whole.Against, whole.Message, whole.MinDurationNs, whole.MaxDurationNs = r.Against, r.Message, r.MinDurationNs,
			r.MaxDurationNs
		if !reflect.DeepEqual(*r, whole) {
			return invalid("view", `Leave the others out; message: {"status": 500} asks for requests by what they are.`,
				"view request takes under, against, message, minDurationNs, maxDurationNs, limit and offset alone")
		}
		return nil
	}
	if r.Text != nil {
		return invalid("text", "Use view events for the output, then timeFrom and timeTo for the calls around it.",
			"view %s shows calls, which have no text", r.View)
	}
	if f.kinds != 0 && f.kinds&callKinds == 0 {
		return invalid("eventType", "Use view events, or leave eventType out.", "view %s shows calls, not %s", r.View,
			strings.Join(r.EventType, ", "))
	}
	if r.Offset > 0 && r.View == "object" || r.Offset > 0 && r.View == "table" && slices.Contains(Orders, r.Order) {
		return invalid("offset", "Use afterEventId: it goes on from a call.", "view %s goes on by events", r.View)
	}
	return nil
}

const (
	callKinds  uint32 = 1<<event.FunctionEnter | 1<<event.FunctionExit
	otherKinds uint32 = (1<<event.NumKinds - 1) &^ callKinds &^ (1 << event.KindNone)
)
