package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/engine/model"
)

// encode makes the body of a request. Its beginning depends on nothing but the
// model, the tools and the messages, in this order, so that a conversation that
// has grown begins with the same bytes and the provider's prefix cache hits.
func (o openAI) encode(req model.Request) ([]byte, error) {
	body := chatRequest{Model: o.info.Model, Stream: true}
	body.StreamOptions.IncludeUsage = true
	limit := req.MaxOutput
	if limit <= 0 {
		limit = o.info.MaxOutput
	}
	// OpenAI's reasoning models refuse max_tokens; most imitators know nothing else.
	if o.info.Kind == "openai" {
		body.MaxCompletionTokens, body.PromptCacheKey = limit, req.CacheKey
	} else {
		body.MaxTokens = limit
	}
	if o.info.Tools {
		tools, err := chatTools(req.Tools)
		if err != nil {
			return nil, err
		}
		body.Tools = tools
	}
	for _, m := range req.Messages {
		body.Messages = append(body.Messages, chatMessageOf(m))
	}
	return plainJSON(body)
}

type chatRequest struct {
	Model         string        `json:"model"`
	Tools         []chatTool    `json:"tools,omitempty"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int    `json:"max_tokens,omitempty"`
	MaxCompletionTokens int    `json:"max_completion_tokens,omitempty"`
	PromptCacheKey      string `json:"prompt_cache_key,omitempty"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type chatMessage struct {
	Role       model.Role `json:"role"`
	Content    *string    `json:"content"` // null beside tool calls
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func chatMessageOf(m model.Message) chatMessage {
	out := chatMessage{Role: m.Role, Content: &m.Text, ToolCallID: m.CallID}
	if m.Text == "" && len(m.Calls) > 0 {
		out.Content = nil
	}
	for _, c := range m.Calls {
		call := chatCall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = c.Name, string(c.Args)
		out.ToolCalls = append(out.ToolCalls, call)
	}
	return out
}

// chatTools sorts the tools by name and the keys of their schemas.
func chatTools(specs []model.ToolSpec) ([]chatTool, error) {
	var out []chatTool
	byName := func(a, b model.ToolSpec) int { return strings.Compare(a.Name, b.Name) }
	for _, spec := range slices.SortedFunc(slices.Values(specs), byName) {
		schema, err := canonical(spec.Schema)
		if err != nil {
			return nil, fmt.Errorf("schema of tool %s: %w", spec.Name, err)
		}
		tool := chatTool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = spec.Name, spec.Description, schema
		out = append(out, tool)
	}
	return out, nil
}

// canonical is v with sorted keys and numbers as they were written.
func canonical(v json.RawMessage) (json.RawMessage, error) {
	if len(v) == 0 {
		return json.RawMessage(`{"properties":{},"type":"object"}`), nil
	}
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	return plainJSON(tree)
}

// plainJSON leaves <, > and & as they are: code is full of them, and each escape
// costs tokens.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
