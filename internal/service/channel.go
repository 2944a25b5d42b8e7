package service

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/session"
)

// ChannelParams are the parameters of debug_channel.
type ChannelParams struct {
	SessionID string              `json:"sessionId"`
	Action    string              `json:"action"`
	Channel   string              `json:"channel,omitempty" jsonschema:"all but list"`
	Options   query.MessageFilter `json:"options,omitempty" jsonschema:"add"`
	Message   query.MessageFilter `json:"message,omitempty" jsonschema:"send: {do: NAME, …}; list shows them"`
	Match     query.MessageFilter `json:"match,omitempty" jsonschema:"query: members, {status: {lessThan: 500}}"`
	From      query.Moment        `json:"from,omitempty" jsonschema:"query: ns, or -5s"`
	To        query.Moment        `json:"to,omitempty"`
	Summary   bool                `json:"summary,omitempty" jsonschema:"query: counts only"`
	Limit     int                 `json:"limit,omitempty"`
	Budget
}

// ChannelResult is the answer of actions add, remove and list.
type ChannelResult struct {
	Channels []iochan.Info `json:"channels"`        // open ones
	Takes    []ChannelHelp `json:"kinds,omitempty"` // list: what there is; add: of what was added
	Hint     string        `json:"hint,omitempty"`
}

// ChannelHelp says what a kind of channel is for.
type ChannelHelp struct {
	Kind     string   `json:"kind"`
	Doc      string   `json:"doc,omitempty"`
	Options  []string `json:"options,omitempty"`
	Messages []string `json:"messages,omitempty"` // name(field, …); ! is required, = a default
}

// ChannelSent is the answer of action send.
type ChannelSent struct {
	Channel string `json:"channel"`
	Answer  any    `json:"answer,omitempty"` // of the channel: of net's request the answer that came
}

// ChannelHeard is the answer of action query.
type ChannelHeard struct {
	Events      []query.Event    `json:"events"`
	Counts      map[string]int64 `json:"counts,omitempty"` // summary: by what, of the newest 500
	TotalCount  int64            `json:"totalCount"`
	HasMore     bool             `json:"hasMore,omitempty"`
	LastEventID int64            `json:"lastEventId,omitempty"`
	Hint        string           `json:"hint,omitempty"`
}

var channelOp = Op{
	Name: "debug_channel",
	Summary: "How a program meets the world: net[:PORT] (requests, server, faults), file:GLOB, process (signals, " +
		"limits), audio, midi, stdio. Add one, send to it, ask what it heard; the timeline has it too (eventType channel).",
	Doc: "What a channel is sent and what it hears are events on the session's timeline. list says what messages each " +
		"channel takes. A channel that cannot work says so when it is added. stdio, trace and process are always there. " +
		"A message is refused as a whole, with the field that is wrong. See channels.md.",
	Destructive: true,
	Params:      reflect.TypeFor[ChannelParams](),
	Results: []reflect.Type{reflect.TypeFor[ChannelResult](), reflect.TypeFor[ChannelSent](),
		reflect.TypeFor[ChannelHeard]()},
	Fields: []Field{
		{Name: "sessionId", Required: true},
		{Name: "action", Required: true, Enum: []string{"add", "remove", "list", "send", "query"}},
		{Name: "limit", Min: 1, Max: query.MaxLimit, Default: query.DefaultLimit, Cut: true},
		maxTokensField,
	},
	adjust: func(input *jsonschema.Schema) {
		for _, name := range []string{"from", "to"} {
			input.Properties[name].Types = []string{"integer", "string"}
		}
	},
	run: typed(channelAction),
}

func channelAction(ctx context.Context, s *Service, p *ChannelParams) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	sess, err := s.sessions.Get(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	switch p.Action {
	case "add":
		if err := sess.AddChannel(ctx, p.Channel, json.RawMessage(p.Options)); err != nil {
			return nil, err
		}
		k, _, err := iochan.KindOf(p.Channel)
		if err != nil {
			return nil, err
		}
		return &ChannelResult{Channels: sess.Channels(), Takes: []ChannelHelp{channelHelp(k)}}, nil
	case "remove":
		if err := sess.RemoveChannel(p.Channel); err != nil {
			return nil, err
		}
		return &ChannelResult{Channels: sess.Channels()}, nil
	case "send":
		answer, err := sess.SendChannel(ctx, p.Channel, json.RawMessage(p.Message))
		if err != nil {
			return nil, err
		}
		return &ChannelSent{Channel: p.Channel, Answer: answer}, nil
	case "query":
		return askChannel(ctx, s, p)
	}
	r := &ChannelResult{Channels: sess.Channels()}
	for _, k := range iochan.Kinds {
		r.Takes = append(r.Takes, channelHelp(k))
	}
	return r, nil
}

// check refuses fields that the action would ignore, and what it lacks.
func (p *ChannelParams) check() error {
	switch {
	case p.Action != "list" && p.Channel == "":
		return invalid("Channels: "+strings.Join(iochan.KindNames(), ", ")+".", "channel is required for action %s", p.Action)
	case p.Action == "list" && p.Channel != "":
		return invalid("Leave it out.", "action list takes no channel")
	case p.Action != "add" && len(p.Options) > 0:
		return invalid("Leave them out.", "options belong to action add")
	case p.Action == "send" && len(p.Message) == 0:
		return invalid(`Give {"do": NAME, …}; action list shows the names.`, "message is required for action send")
	case p.Action != "send" && len(p.Message) > 0:
		return invalid("Leave it out, or use match.", "message belongs to action send")
	case p.Action != "query" && (len(p.Match) > 0 || p.From != "" || p.To != "" || p.Summary || p.Limit != 0):
		return invalid("Leave them out.", "match, from, to, summary and limit belong to action query")
	}
	return nil
}

func channelHelp(k *iochan.Kind) ChannelHelp {
	h := ChannelHelp{Kind: k.Usage(), Doc: k.Doc}
	for _, o := range k.Options {
		h.Options = append(h.Options, o.Name+": "+o.Doc)
	}
	for i := range k.Messages {
		h.Messages = append(h.Messages, k.Messages[i].Usage())
	}
	return h
}

// askChannel is debug_query for one channel.
func askChannel(ctx context.Context, s *Service, p *ChannelParams) (*ChannelHeard, error) {
	r := query.Request{SessionID: p.SessionID, Channel: p.Channel, Message: p.Match, TimeFrom: p.From, TimeTo: p.To,
		Limit: p.Limit}
	if kind, _, _ := strings.Cut(p.Channel, ":"); kind == "trace" || kind == "process" {
		r.Channel = ""
		if r.EventType = (query.Kinds{"function_enter", "function_exit"}); kind == "process" {
			r.EventType = query.Kinds{"process", "channel", "crash"}
		}
	}
	if p.Summary {
		r.Limit = query.MaxLimit
	}
	res, err := runQuery(ctx, s, &r)
	if err != nil {
		return nil, err
	}
	h := &ChannelHeard{Events: res.Events, TotalCount: res.TotalCount, HasMore: res.HasMore, LastEventID: res.LastEventID,
		Hint: res.Hint}
	if !p.Summary {
		return h, nil
	}
	h.Counts, h.Events = map[string]int64{}, []query.Event{}
	for i := range res.Events {
		e := &res.Events[i]
		what := e.EventType
		for _, m := range e.Data {
			if m.Name == "what" {
				what = strings.Trim(string(m.Value), `"`)
			}
		}
		h.Counts[e.Stream+" "+what]++
	}
	return h, nil
}

// launchOn launches a program with channels, which are open before it starts: what they say (net.url) can stand in its
// environment, arguments and input as ${net.url}.
func (s *Service) launchOn(ctx context.Context, r session.LaunchRequest, channels []string) (*session.Session, error) {
	if len(channels) == 0 {
		return s.sessions.Launch(ctx, r)
	}
	hub := iochan.NewHub(r.ProjectRoot)
	begun := false
	defer func() {
		if !begun {
			hub.Close() //nolint:errcheck // the launch's own error counts
		}
	}()
	for _, name := range channels {
		if err := hub.Add(ctx, name, nil); err != nil {
			return nil, err
		}
	}
	all := hub.Variables()
	env := hub.Environment()
	maps.Copy(env, mapped(r.Env, all))
	r.Env = env
	r.Args = slices.Clone(r.Args)
	for i := range r.Args {
		r.Args[i] = expand(r.Args[i], all)
	}
	r.Stdin = expand(r.Stdin, all)
	r.Channels = hub
	sess, err := s.sessions.Launch(ctx, r)
	begun = err == nil
	return sess, err
}

func mapped(env, all map[string]string) map[string]string {
	out := make(map[string]string, len(env))
	for name, v := range env {
		out[name] = expand(v, all)
	}
	return out
}

// expand puts variables into a text; what is none of them stays as it is.
func expand(s string, all map[string]string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	pairs := make([]string, 0, 2*len(all))
	for name, v := range all {
		pairs = append(pairs, "${"+name+"}", v)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}
