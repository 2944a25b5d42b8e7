package service

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/session"
)

// TimelineParams are the parameters of debug_timeline.
type TimelineParams struct {
	SessionID string `json:"sessionId"`
	Action    string `json:"action"`
	From      int64  `json:"from,omitempty" jsonschema:"picture"`
	To        int64  `json:"to,omitempty" jsonschema:"picture"`
	Buckets   int    `json:"buckets,omitempty" jsonschema:"picture: as many as there are pixels"`
	Levels    int    `json:"levels,omitempty" jsonschema:"picture: depths of calls"`
	Lanes     []int  `json:"lanes,omitempty" jsonschema:"picture: those alone"`
	ID        int64  `json:"id,omitempty" jsonschema:"event"`
	Filter    string `json:"filter,omitempty" jsonschema:"stats, flame: a debug_query as JSON"`

	By      string   `json:"by,omitempty" jsonschema:"flame"`
	Path    []string `json:"path,omitempty" jsonschema:"flame: names from the outermost call to the one that is zoomed to"`
	Nodes   int      `json:"nodes,omitempty" jsonschema:"flame"`
	Against string   `json:"against,omitempty" jsonschema:"flame: other session"`
	Budget
}

// StatsResult is the answer of action stats.
type StatsResult struct {
	Rows []query.Stat `json:"rows"`
	Of   int64        `json:"of"` // functions that there are
	Hint string       `json:"hint,omitempty"`
}

// timelineOp is not offered to models: it draws for people.
var timelineOp = Op{
	Name: "debug_timeline",
	Summary: "For pages: the timeline as pictures, with what is narrower than a pixel added up; one event with all " +
		"around it; statistics as numbers.",
	Doc: "It is called by its name; the list of tools that models are shown does not have it. " +
		"Action lanes lists threads and tasks. Action picture draws the calls of a stretch of time: " +
		"spans is a table by column, little endian: from, to and id as float64, count, function and lane as uint32, depth " +
		"and busy (of 65,535) as uint16. A span of count 1 is a call, id its exit; of count 0 a call that has not ended, " +
		"id its enter; of more, calls that are narrower than a bucket, id and function the longest's. Action event is one " +
		"event with its values, callers and callees. Action stats is view stats of debug_query as numbers. Action flame " +
		"merges call stacks, of filter's function, threads and time; nodes are columns, each behind its parent, the " +
		"smallest left out.",
	ReadOnly: true,
	Unlisted: true,
	Params:   reflect.TypeFor[TimelineParams](),
	Results: []reflect.Type{reflect.TypeFor[query.Lanes](), reflect.TypeFor[query.Picture](),
		reflect.TypeFor[query.OneEvent](), reflect.TypeFor[StatsResult](), reflect.TypeFor[query.Flame]()},
	Fields: []Field{
		maxTokensField, {Name: "sessionId", Required: true},
		{Name: "action", Required: true, Enum: []string{"lanes", "picture", "event", "stats", "flame"}},
		{Name: "from", Max: unbounded},
		{Name: "to", Max: unbounded},
		{Name: "buckets", Min: 1, Max: query.MaxBuckets, Default: 1000},
		{Name: "levels", Min: 1, Max: query.MaxLevels, Default: 32},
		{Name: "lanes", Max: unbounded},
		{Name: "id", Min: 1, Max: unbounded},
		{Name: "by", Enum: []string{"time", "count"}, Default: "time"},
		{Name: "path", Empty: true},
		{Name: "nodes", Min: 1, Max: query.MaxFlameNodes, Default: 4000},
	},
	run: typed(timeline),
}

func timeline(ctx context.Context, s *Service, p *TimelineParams) (any, error) {
	if p.Action == "event" && p.ID == 0 {
		return nil, invalid("Give id; debug_query lists events.", "which event?")
	}
	sess, err := s.sessions.Get(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.Action == "stats" {
		return timelineStats(ctx, s, p)
	}
	st, use, release, err := sess.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	over := sess.Complete()
	// Where the store cannot keep up or the disk is full, what is there is drawn.
	if err := sess.FlushWithin(use, 0); err != nil && use.Err() != nil {
		return nil, use.Err()
	}
	switch p.Action {
	case "event":
		return query.LookAt(use, st, p.ID)
	case "lanes":
		lanes, err := query.ListLanes(use, st)
		if err != nil {
			return nil, err
		}
		lanes.Over = over
		return lanes, nil
	case "flame":
		req, done, err := p.flame(use, s)
		if err != nil {
			return nil, err
		}
		defer done()
		return query.DrawFlame(use, st, *req)
	}
	return query.DrawPicture(use, st, p.picture(sess))
}

// flame is what is asked for; done lets go of the other session.
func (p *TimelineParams) flame(ctx context.Context, s *Service) (req *query.FlameRequest, done func(), err error) {
	filter, err := p.filter()
	if err != nil {
		return nil, nil, err
	}
	req = &query.FlameRequest{Filter: *filter, By: cmp.Or(p.By, "time"), Path: p.Path, Nodes: cmp.Or(p.Nodes, 4000)}
	if p.Against == "" {
		return req, func() {}, nil
	}
	other, err := s.sessions.Get(ctx, p.Against)
	if err != nil {
		return nil, nil, err
	}
	st, _, done, err := other.Use(ctx)
	if err != nil {
		return nil, nil, err
	}
	// Where the store cannot keep up or the disk is full, what is there is drawn.
	if err := other.FlushWithin(ctx, 0); err != nil && ctx.Err() != nil {
		done()
		return nil, nil, ctx.Err()
	}
	req.Against = st
	return req, done, nil
}

// picture is what is asked for; without to, all that there is.
func (p *TimelineParams) picture(sess *session.Session) query.PictureRequest {
	r := query.PictureRequest{From: p.From, To: p.To, Buckets: p.Buckets, Levels: p.Levels}
	if r.Buckets == 0 {
		r.Buckets = 1000
	}
	if r.Levels == 0 {
		r.Levels = 32
	}
	if r.To == 0 {
		r.To = max(r.From, sess.Now())
	}
	for _, id := range p.Lanes {
		if id >= 0 {
			r.Lanes = append(r.Lanes, event.ThreadID(id))
		}
	}
	return r
}

// filter is the debug_query that is given with it.
func (p *TimelineParams) filter() (*query.Request, error) {
	fields := map[string]json.RawMessage{}
	if p.Filter != "" {
		if err := json.Unmarshal([]byte(p.Filter), &fields); err != nil {
			return nil, invalid("Give the fields of a debug_query as a JSON object.", "read filter: %w", err)
		}
	}
	id, err := json.Marshal(p.SessionID)
	if err != nil {
		return nil, err
	}
	fields["sessionId"] = id
	whole, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	decoded, err := queryOp.Decode(whole)
	if err != nil {
		return nil, err
	}
	return decoded.(*query.Request), nil
}

// timelineStats is view stats, whose rows debug_query gives as text.
func timelineStats(ctx context.Context, s *Service, p *TimelineParams) (*StatsResult, error) {
	r, err := p.filter()
	if err != nil {
		return nil, err
	}
	r.View, r.MaxTokens, r.WaitMs = "stats", query.MaxTokens, 0
	if r.Limit == 0 {
		r.Limit = query.MaxLimit
	}
	if err := queryOp.Check(r); err != nil {
		return nil, err
	}
	res, err := runQuery(ctx, s, r)
	if err != nil {
		return nil, err
	}
	if res.Rows == nil {
		res.Rows = []query.Stat{}
	}
	return &StatsResult{Rows: res.Rows, Of: res.TotalCount, Hint: res.Hint}, nil
}
