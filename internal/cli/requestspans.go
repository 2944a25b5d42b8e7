package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/bucket"
	"github.com/strobe-debug/strobe/internal/export"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/service"
	"github.com/strobe-debug/strobe/internal/store"
)

// requestSpans writes the requests of a session and of those beside it as OpenTelemetry's spans: into a file, to
// standard output (-), or to a collector's address.
func (a *app) requestSpans(ctx context.Context, session, against, to string) error {
	others, given := strings.Split(against, ","), against != ""
	if !given {
		var list service.ListResult
		c, err := connect(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.callInto(ctx, "debug_session", map[string]any{"action": "list"}, &list); err != nil {
			return err
		}
		others = nil
		for i := range list.Sessions {
			others = append(others, list.Sessions[i].SessionID)
		}
	}
	open := map[string]*store.Store{}
	var sets []*query.SocketCalls
	var first *store.Store
	for i, id := range append([]string{session}, others...) {
		if id = strings.TrimSpace(id); i > 0 && id == session {
			continue
		}
		st, set, err := a.socketsOf(ctx, id)
		if err != nil {
			if i > 0 && !given { // it may be gone by now
				continue
			}
			return err
		}
		defer st.Close()
		if i == 0 {
			first = st
		}
		if i == 0 || given || set.BootID == sets[0].BootID && overlap(sets[0], set) || besides(first, st) {
			open[set.SessionID], sets = st, append(sets, set)
		}
	}
	same, joined, notes := query.Together(sets)
	var stores []*store.Store
	for _, s := range same {
		stores = append(stores, open[s.SessionID])
		if s.Older > 0 {
			notes = append(notes, fmt.Sprintf("Of %s %d older calls on sockets were not read.", s.SessionID, s.Older))
		}
	}
	out, end, err := a.spansTo(ctx, to, stores)
	if err != nil {
		return err
	}
	done, err := export.Requests(ctx, stores, joined, out)
	if err = end(err); err != nil {
		return err
	}
	a.warn(notes)
	if a.json && to != "-" {
		return json.NewEncoder(a.out).Encode(done)
	}
	fmt.Fprintf(a.err, "%s: %d spans of %d requests, %d hops; %d calls left out\n", to, done.Spans, done.Requests,
		done.Hops, done.Omitted)
	if done.Requests == 0 {
		return &exitStatus{exitNothing, "no requests were recorded: trace @sockets"}
	}
	return nil
}

// overlap reports whether anything went over sockets in both at one time.
func overlap(a, b *query.SocketCalls) bool {
	if len(a.Calls) == 0 || len(b.Calls) == 0 {
		return false
	}
	return a.Calls[0].End <= b.Calls[len(b.Calls)-1].End && b.Calls[0].End <= a.Calls[len(a.Calls)-1].End
}

// besides reports whether a session of another machine ran at the same time, by wall clocks.
func besides(a, b *store.Store) bool {
	span := func(st *store.Store) (from, to int64) {
		return st.Meta().StartedAt, st.Meta().StartedAt + st.Stats().LastTS
	}
	fromA, toA := span(a)
	fromB, toB := span(b)
	return a.Meta().BootID != b.Meta().BootID && fromA <= toB && fromB <= toA
}

func (a *app) socketsOf(ctx context.Context, id string) (*store.Store, *query.SocketCalls, error) {
	path, err := sessionFile(id)
	if err != nil {
		return nil, nil, err
	}
	st, err := store.Open(path)
	if err != nil {
		return nil, nil, err
	}
	set, err := query.ReadSockets(ctx, st, 0)
	if err != nil {
		st.Close()
		return nil, nil, err
	}
	return st, set, nil
}

// spansTo opens what spans are written to; end closes it and says what went wrong. A file takes the place of what was
// there when it is complete.
func (a *app) spansTo(ctx context.Context, to string, stores []*store.Store) (out io.Writer,
	end func(failed error) error, err error) {
	switch {
	case to == "-":
		return a.out, func(failed error) error { return failed }, nil
	case strings.HasPrefix(to, "http://"), strings.HasPrefix(to, "https://"):
		from, pipe := io.Pipe()
		sent := make(chan error, 1)
		go func() {
			err := postLines(ctx, to, from)
			from.CloseWithError(err)
			sent <- err
		}()
		return pipe, func(failed error) error {
			pipe.Close()
			return cmp.Or(failed, <-sent)
		}, nil
	}
	var f *os.File
	info, err := os.Stat(to)
	switch {
	case err == nil && slices.ContainsFunc(stores, func(st *store.Store) bool { return st.IsFile(info) }):
		return nil, nil, fault.New(fault.ValidationError, "Give another file.", "%s is a session itself", to)
	case err == nil && !info.Mode().IsRegular():
		f, err = os.OpenFile(to, os.O_WRONLY, 0)
	default:
		f, err = os.CreateTemp(filepath.Dir(to), ".strobe-spans-")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("write spans: %w", err)
	}
	return f, func(failed error) error {
		failed = cmp.Or(failed, f.Close())
		if f.Name() == to {
			return failed
		}
		if failed == nil {
			failed = os.Rename(f.Name(), to)
		}
		if failed != nil {
			os.Remove(f.Name()) //nolint:errcheck // it is not wanted
		}
		return failed
	}, nil
}

// maxSaid bounds a collector's answer, which may say that it has not taken all.
const maxSaid = 1 << 20

// postLines sends each line to a collector, as OTLP over HTTP.
func postLines(ctx context.Context, to string, lines io.Reader) error {
	r := bufio.NewReader(lines)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) == 0 && err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(line))
		if err != nil {
			return fmt.Errorf("send spans: %w", err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := bucket.RoundTrip(ctx, req)
		if err != nil {
			return fault.New(fault.ValidationError, "Start a collector there, or name a file.", "send spans: %w", err)
		}
		said, _ := io.ReadAll(io.LimitReader(res.Body, maxSaid)) //nolint:errcheck // the status counts
		res.Body.Close()
		var partial struct {
			PartialSuccess struct{ RejectedSpans json.Number }
		}
		if json.Unmarshal(said, &partial); res.StatusCode != http.StatusOK || //nolint:errcheck // an answer may be empty
			!strings.Contains("0", string(partial.PartialSuccess.RejectedSpans)) {
			return fault.New(fault.ValidationError, "Name the address for OTLP's traces, such as http://HOST:4318/v1/traces.",
				"%s answered %s: %.500s", to, res.Status, said)
		}
	}
}
