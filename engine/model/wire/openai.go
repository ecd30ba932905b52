package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"hob/engine/model"
)

const openAIBase = "https://api.openai.com/v1"

// maxReply bounds what one turn keeps, about two million tokens: a model stuck in
// a loop is stopped by its output limit, a hostile server by this.
const maxReply = 8 << 20

// openAI speaks streamed chat completions (platform.openai.com/docs/api-reference/chat).
type openAI struct {
	endpoint
	info model.Info
}

func newOpenAI(e endpoint, info model.Info) model.Provider { return openAI{e, info} }

// Info implements [model.Provider].
func (o openAI) Info() model.Info { return o.info }

// Stream implements [model.Provider].
func (o openAI) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		body, err := o.encode(req)
		if err != nil {
			yield(model.Event{}, o.fail(model.BadRequest, err))
			return
		}
		s, err := o.post(ctx, "chat/completions", body)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		defer s.Close()
		r := newReader(s)
		t := turn{openAI: o, prefix: fmt.Sprintf("call_%d", len(req.Messages))}
		for !t.done {
			s.useful.Reset(usefulLimit)
			ev, err := r.next()
			s.useful.Stop()
			if err != nil {
				yield(model.Event{}, o.unread(s, r, err))
				return
			}
			out, err := t.take(ev)
			for _, e := range out {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(model.Event{}, err)
				return
			}
		}
	}
}

// unread is the error of a stream that can't be read on.
func (o openAI) unread(s *stream, r *reader, err error) error {
	switch {
	case errors.Is(err, errNotEvents):
		return o.noEvents(s, r)
	case errors.Is(err, errLongEvent):
		return o.fail(model.Unusable, err)
	case errors.Is(err, io.EOF) && s.ctx.Err() == nil:
		return o.fail(model.StreamTruncated, errors.New("the connection closed before [DONE]"))
	}
	return o.broken(s, err)
}

// noEvents is the error of a success that is none: a gateway's page or a JSON
// error.
func (o openAI) noEvents(s *stream, r *reader) error {
	body, err := io.ReadAll(io.LimitReader(r.r, maxErrorBody))
	if err != nil {
		return o.broken(s, err)
	}
	t := parseTold(body)
	class, ok := t.exact()
	if !ok {
		class = model.Unusable
	}
	e := o.fail(class, errNotEvents)
	e.Message = o.clean(t.Message)
	return e
}

// A turn puts the pieces of one reply together.
type turn struct {
	openAI
	prefix string // of the ids of calls that the server gave none
	calls  []*partial
	stop   string
	size   int // bytes of text, thought and arguments
	done   bool
}

// A partial is a call under way.
type partial struct {
	index    int
	id, name string
	args     strings.Builder
}

// take returns what the caller may know after ev.
func (t *turn) take(ev event) ([]model.Event, error) {
	data := bytes.TrimSpace(ev.data)
	switch {
	case string(data) == "[DONE]":
		t.done = true
		return t.end(), nil
	case len(data) == 0:
		return nil, nil
	case !json.Valid(data):
		return nil, t.fail(model.StreamTruncated, errors.New("an event is cut or is no JSON"))
	case ev.name == "error":
		return nil, t.inBand(data)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, t.fail(model.Unusable, fmt.Errorf("read event: %w", err))
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return nil, t.inBand(data)
	}
	return t.add(c)
}

// inBand is an error that the server reports after its 200.
func (t *turn) inBand(data []byte) error {
	told := parseTold(data)
	e := t.fail(told.class(0), nil)
	e.Message = t.clean(told.Message)
	return e
}

func (t *turn) add(c chunk) ([]model.Event, error) {
	var out []model.Event
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // hob asks for one
		}
		d := choice.Delta
		thought := d.ReasoningContent + d.Reasoning
		if thought != "" {
			out = append(out, model.Event{Reasoning: thought})
		}
		if d.Content != "" {
			out = append(out, model.Event{Text: d.Content})
		}
		t.size += len(thought) + len(d.Content)
		for _, f := range d.ToolCalls {
			t.size += len(f.Function.Arguments)
			if err := t.join(f); err != nil {
				return out, err
			}
		}
		if t.size > maxReply {
			return out, t.fail(model.Unusable, errors.New("the reply is longer than 8 MiB"))
		}
		switch {
		case d.Refusal != "":
			t.stop = model.StopFilter
		case choice.FinishReason == "error", choice.FinishReason == "insufficient_system_resource":
			return out, t.fail(model.StreamError, fmt.Errorf("finish_reason %s", choice.FinishReason))
		case choice.FinishReason != "" && t.stop != model.StopFilter:
			t.stop = choice.FinishReason
		}
	}
	if c.Usage != nil {
		u := c.Usage.disjoint()
		out = append(out, model.Event{Usage: &u})
	}
	return out, nil
}

// join adds a fragment to its call. A fragment whose id differs from its call's
// begins another: some servers give all calls the same index, or none.
func (t *turn) join(f fragment) error {
	const most = 128
	p := t.find(f.Index)
	if p == nil || f.ID != "" && p.id != "" && f.ID != p.id {
		if len(t.calls) == most {
			return t.fail(model.Unusable, fmt.Errorf("the reply has more than %d tool calls", most))
		}
		p = &partial{index: len(t.calls)}
		if f.Index != nil {
			p.index = *f.Index
		}
		t.calls = append(t.calls, p)
	}
	if p.id == "" {
		p.id = f.ID
	}
	if p.name == "" {
		p.name = f.Function.Name
	}
	p.args.WriteString(f.Function.Arguments)
	return nil
}

// find returns the newest call with the index, or the newest of all without one,
// or nil.
func (t *turn) find(index *int) *partial {
	for _, p := range slices.Backward(t.calls) {
		if index == nil || p.index == *index {
			return p
		}
	}
	return nil
}

// end returns the calls, which are whole now, and Done.
func (t *turn) end() []model.Event {
	var out []model.Event
	for i, p := range t.calls {
		c := model.Call{ID: p.id, Name: p.name, Args: json.RawMessage(p.args.String())}
		if c.ID == "" {
			c.ID = fmt.Sprintf("%s_%d", t.prefix, i)
		}
		if len(bytes.TrimSpace(c.Args)) == 0 {
			c.Args = json.RawMessage("{}") // how a call without arguments is often written
		}
		out = append(out, model.Event{Call: &c})
	}
	stop := t.stop
	if known, ok := stops[stop]; ok {
		stop = known
	}
	if stop == model.StopEnd && len(t.calls) > 0 {
		stop = model.StopCalls
	}
	return append(out, model.Event{Done: &model.Done{Stop: stop}})
}

// stops are the finish reasons of servers in hob's words.
var stops = map[string]string{
	"":              model.StopEnd, // [DONE] is enough
	"eos":           model.StopEnd,
	"end_turn":      model.StopEnd,
	"function_call": model.StopCalls,
	"tool_use":      model.StopCalls,
	"max_tokens":    model.StopLength,
	"model_length":  model.StopLength,
	"refusal":       model.StopFilter,
	"safety":        model.StopFilter,
}

// A chunk is what one event holds. Unknown fields are none of our business.
type chunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content          string     `json:"content"`
			Refusal          string     `json:"refusal"`
			Reasoning        string     `json:"reasoning"`         // OpenRouter, Ollama
			ReasoningContent string     `json:"reasoning_content"` // DeepSeek, vLLM, llama.cpp
			ToolCalls        []fragment `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage      `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type fragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// chatUsage has totals that include their details.
type chatUsage struct {
	PromptTokens        int64 `json:"prompt_tokens"`
	CompletionTokens    int64 `json:"completion_tokens"`
	TotalTokens         int64 `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	PromptCacheHitTokens int64 `json:"prompt_cache_hit_tokens"` // DeepSeek's name for cached_tokens
}

// disjoint takes the details out of the totals. Details that exceed their total
// can't be meant, and no count goes below zero.
func (u chatUsage) disjoint() model.Usage {
	prompt, output := max(u.PromptTokens, 0), max(u.CompletionTokens, 0)
	thought := max(u.CompletionTokensDetails.ReasoningTokens, 0)
	// xAI counts reasoning beside completion_tokens; its total gives it away.
	if thought > 0 && u.TotalTokens == prompt+output+thought {
		output += thought
	}
	cached := min(max(u.PromptTokensDetails.CachedTokens, u.PromptCacheHitTokens, 0), prompt)
	thought = min(thought, output)
	return model.Usage{
		InputUncached:   prompt - cached,
		CacheRead:       cached,
		OutputVisible:   output - thought,
		OutputReasoning: thought,
	}
}
