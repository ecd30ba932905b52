package wire_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/configs"
	"hob/engine/model"
)

var update = flag.Bool("update", false, "write golden files")

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// body answers with an event stream, as it stands.
func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
}

// events are values as server-sent events.
func events(values ...string) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString("data: " + v + "\n\n")
	}
	return b.String()
}

func say(text string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q}}]}`, text)
}

func stop(reason string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason)
}

func fragments(f string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[` + f + `]}}]}`
}

const usage = `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`

const end = "[DONE]"

func TestReplies(t *testing.T) {
	ten := model.Usage{InputUncached: 10, OutputVisible: 2}
	calls := func(cs ...model.Call) model.Reply { return model.Reply{Calls: cs, Usage: ten, Stop: model.StopCalls} }
	args := func(s string) json.RawMessage { return json.RawMessage(s) }
	tests := []struct {
		name, body string
		want       model.Reply
	}{
		{"text", events(say("he"), say("llo"), stop("stop"), usage, end), model.Reply{Text: "hello", Usage: ten, Stop: "stop"}},
		{
			"first chunk with role, nulls and unknown fields",
			events(`{"id":"x","object":"chat.completion.chunk","system_fingerprint":null,"choices":[{"index":0,"logprobs":null,`+
				`"delta":{"role":"assistant","content":null,"tool_calls":null,"refusal":null},"finish_reason":null}],"usage":null,"error":null}`,
				say("a"), stop("stop"), usage, end),
			model.Reply{Text: "a", Usage: ten, Stop: "stop"},
		},
		{
			"other choices are not ours",
			events(`{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}`, stop("stop"), usage, end),
			model.Reply{Text: "a", Usage: ten, Stop: "stop"},
		},
		{
			"reasoning in both spellings",
			events(`{"choices":[{"delta":{"reasoning_content":"h"}}]}`, `{"choices":[{"delta":{"reasoning":"m"}}]}`, say("a"), stop("stop"), usage, end),
			model.Reply{Text: "a", Reasoning: "hm", Usage: ten, Stop: "stop"},
		},
		{
			"fragments go to the call with their index",
			events(
				fragments(`{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}`),
				fragments(`{"index":1,"id":"b","type":"function","function":{"name":"list","arguments":"{\"d"}}`),
				fragments(`{"index":0,"function":{"arguments":"{\"p\":"}},{"index":1,"function":{"arguments":"\":1}"}}`),
				fragments(`{"index":0,"function":{"arguments":"\"x\"}"}}`),
				stop("tool_calls"), usage, end,
			),
			calls(model.Call{ID: "a", Name: "read", Args: args(`{"p":"x"}`)}, model.Call{ID: "b", Name: "list", Args: args(`{"d":1}`)}),
		},
		{
			"one index for all calls",
			events(
				fragments(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`),
				fragments(`{"index":0,"id":"b","function":{"name":"list","arguments":"{}"}}`),
				stop("stop"), usage, end,
			),
			calls(model.Call{ID: "a", Name: "read", Args: args(`{}`)}, model.Call{ID: "b", Name: "list", Args: args(`{}`)}),
		},
		{
			"no index, the name and id repeated",
			events(
				fragments(`{"id":"a","function":{"name":"read","arguments":"{"}}`),
				fragments(`{"id":"a","function":{"name":"read","arguments":"}"}}`),
				fragments(`{"id":"b","function":{"name":"list","arguments":"{}"}}`),
				stop("tool_calls"), usage, end,
			),
			calls(model.Call{ID: "a", Name: "read", Args: args(`{}`)}, model.Call{ID: "b", Name: "list", Args: args(`{}`)}),
		},
		{
			"no id, no arguments",
			events(fragments(`{"index":0,"function":{"name":"diff"}}`), stop("tool_calls"), usage, end),
			calls(model.Call{ID: "call_1_0", Name: "diff", Args: args(`{}`)}),
		},
		{"limit", events(say("a"), stop("length"), usage, end), model.Reply{Text: "a", Usage: ten, Stop: model.StopLength}},
		{"limit, as Mistral says", events(say("a"), stop("model_length"), usage, end), model.Reply{Text: "a", Usage: ten, Stop: model.StopLength}},
		{"no finish reason", events(say("a"), usage, end), model.Reply{Text: "a", Usage: ten, Stop: model.StopEnd}},
		{
			"usage in every chunk: the last",
			events(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}`, stop("stop"), usage, end),
			model.Reply{Text: "a", Usage: ten, Stop: "stop"},
		},
		{
			"no usage",
			events(say("a"), stop("stop"), end),
			model.Reply{Text: "a", Usage: model.Usage{InputUncached: 3, OutputVisible: 1}, Estimated: true, Stop: "stop"},
		},
		{"CR LF, no space, comments", ": hi\r\n\r\ndata:" + say("a") + "\r\n\r\n: ping\r\n\r\ndata:" + usage + "\r\n\r\ndata:[DONE]\r\n\r\n", model.Reply{Text: "a", Usage: ten, Stop: "stop"}},
		{"no blank line after the end", events(say("a"), usage) + "data: [DONE]", model.Reply{Text: "a", Usage: ten, Stop: "stop"}},
		{"blank beginning, empty data", "\n\n\ndata:\n\n" + events(say("a"), usage, end), model.Reply{Text: "a", Usage: ten, Stop: "stop"}},
		{"event over two lines", "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\n\n" + events(usage, end), model.Reply{Text: "a", Usage: ten, Stop: "stop"}},
		{"byte order mark", "\ufeff" + events(say("a"), usage, end), model.Reply{Text: "a", Usage: ten, Stop: "stop"}},
		{"what follows the end", events(say("a"), usage, end, say("b"), `{"error":{}}`), model.Reply{Text: "a", Usage: ten, Stop: "stop"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := model.Collect(t.Context(), serve(t, body(tt.body)), hello)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Collect (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailuresInsideAStream(t *testing.T) {
	tests := []struct {
		name, body string
		class      model.Class
		message    string
	}{
		{"nothing", "", model.StreamTruncated, ""},
		{"only comments", ": ping\n\n", model.StreamTruncated, ""},
		{"no [DONE]", events(say("a"), stop("stop"), usage), model.StreamTruncated, ""},
		{"cut inside an event", events(say("a")) + `data: {"choices":[{"de`, model.StreamTruncated, ""},
		{"rubbish", events(say("a"), "{rubbish}", end), model.StreamTruncated, ""},
		{"wrong shape", events(`{"choices":"none"}`, end), model.Unusable, ""},
		{"empty reply", events(stop("stop"), usage, end), model.Unusable, "the reply has neither text nor tool calls"},
		{"arguments cut", events(fragments(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p"}}`), stop("tool_calls"), end), model.Unusable, "the arguments of a call of read are not JSON"},
		{"filter", events(say("a"), stop("content_filter"), end), model.ContentFilter, "the model refused"},
		{"refusal", events(`{"choices":[{"delta":{"refusal":"no"}}]}`, stop("stop"), end), model.ContentFilter, "the model refused"},
		{"error by type", events(say("a"), `{"error":{"type":"overloaded_error","message":"busy"}}`), model.StreamError, "busy"},
		{"error by status word", events(`{"error":{"status":"UNAVAILABLE","message":"busy"}}`), model.StreamError, "busy"},
		{"error by number", events(`{"error":{"code":502,"message":"bad\u001b[2J gateway"}}`), model.Server, "bad [2J gateway"},
		{"error by number in a string", events(`{"error":{"code":"429","message":"slow"}}`), model.RateLimited, "slow"},
		{"rate limit", events(`{"error":{"code":"rate_limit_exceeded","message":"slow"}}`), model.RateLimited, "slow"},
		{"quota", events(`{"error":{"code":"insufficient_quota","message":"pay"}}`), model.QuotaExhausted, "pay"},
		{"prose decides nothing", events(`{"error":{"message":"rate limit exceeded, context length exceeded"}}`), model.Unknown, "rate limit exceeded, context length exceeded"},
		{"error as text", events(`{"error":"model crashed"}`), model.Unknown, "model crashed"},
		{"error event", "event: error\ndata: {\"type\":\"server_error\",\"message\":\"oops\"}\n\n", model.StreamError, "oops"},
		{"llama.cpp's error field", `error: {"code":500,"message":"oops","type":"server_error"}` + "\n\n", model.Server, "oops"},
		{"error as a finish reason", events(say("a"), stop("error"), end), model.StreamError, ""},
		{"too many calls", events(fragments(manyCalls(200))), model.Unusable, ""},
		{"an endless line", "data: " + strings.Repeat("x", 5<<20), model.Unusable, ""},
		{"an endless reply", strings.Repeat(events(say(strings.Repeat("x", 1<<20))), 9), model.Unusable, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := model.Collect(t.Context(), serve(t, body(tt.body)), hello)
			e := failure(t, err)
			if e.Class != tt.class || e.Message != tt.message {
				t.Errorf("error = %v, want class %s with %q", e, tt.class, tt.message)
			}
		})
	}
}

func manyCalls(n int) string {
	calls := make([]string, n)
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"index":%d}`, i)
	}
	return strings.Join(calls, ",")
}

func TestRefusals(t *testing.T) {
	answer := func(status int, contentType, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	html := "<!DOCTYPE html><title>rate limit exceeded</title>"
	coded := func(code string) string { return fmt.Sprintf(`{"error":{"message":"m","type":"t","code":%q}}`, code) }
	const js = "application/json"
	tests := []struct {
		name  string
		h     http.HandlerFunc
		want  model.Error
		after time.Duration
	}{
		{"400", answer(400, js, coded("x")), model.Error{Class: model.BadRequest, Message: "m"}, 0},
		{"401", answer(401, js, ""), model.Error{Class: model.Auth}, 0},
		{"402", answer(402, js, coded("x")), model.Error{Class: model.QuotaExhausted, Message: "m"}, 0},
		{"403", answer(403, js, coded("x")), model.Error{Class: model.Auth, Message: "m"}, 0},
		{"403 for a region", answer(403, js, coded("unsupported_country_region_territory")), model.Error{Class: model.BadRequest, Message: "m"}, 0},
		{"404", answer(404, js, coded("model_not_found")), model.Error{Class: model.BadRequest, Message: "m"}, 0},
		{"408", answer(408, js, ""), model.Error{Class: model.RequestTimeout}, 0},
		{"too long", answer(400, js, coded("context_length_exceeded")), model.Error{Class: model.ContextOverflow, Message: "m"}, 0},
		{"too long in llama.cpp", answer(400, js, `{"error":{"code":400,"type":"exceed_context_size_error","message":"m"}}`), model.Error{Class: model.ContextOverflow, Message: "m"}, 0},
		{"too long in prose only", answer(400, js, `{"error":{"message":"context length exceeded"}}`), model.Error{Class: model.BadRequest, Message: "context length exceeded"}, 0},
		{"429", answer(429, js, coded("rate_limit_exceeded")), model.Error{Class: model.RateLimited, Message: "m"}, 0},
		{"429, header in lower case", answer(429, js, "", "retry-after", "7"), model.Error{Class: model.RateLimited}, 7 * time.Second},
		{"429, at once", answer(429, js, "", "Retry-After", "0"), model.Error{Class: model.RateLimited}, time.Nanosecond},
		{"429, milliseconds", answer(429, js, "", "Retry-After", "7", "retry-after-ms", "250"), model.Error{Class: model.RateLimited}, 250 * time.Millisecond},
		{"429, a date that has passed", answer(429, js, "", "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"), model.Error{Class: model.RateLimited}, time.Nanosecond},
		{"429, nonsense", answer(429, js, "", "Retry-After", "-5"), model.Error{Class: model.RateLimited}, 0},
		{"429 for money", answer(429, js, coded("insufficient_quota"), "Retry-After", "7"), model.Error{Class: model.QuotaExhausted, Message: "m"}, 7 * time.Second},
		{"429 for a bill", answer(429, js, coded("billing_hard_limit_reached")), model.Error{Class: model.QuotaExhausted, Message: "m"}, 0},
		{"500 with HTML", answer(500, "text/html", html), model.Error{Class: model.Server}, 0},
		{"502 in an array", answer(502, js, `[{"error":{"code":502,"message":"m","status":"UNAVAILABLE"}}]`), model.Error{Class: model.Server, Message: "m"}, 0},
		{"503, come back later", answer(503, js, "", "Retry-After", "120"), model.Error{Class: model.Server}, 2 * time.Minute},
		{"522", answer(522, "text/html", html), model.Error{Class: model.Server}, 0},
		{"529", answer(529, js, ""), model.Error{Class: model.Server}, 0},
		{"418", answer(418, js, coded("x")), model.Error{Class: model.Unknown, Message: "m"}, 0},
		{"200 with HTML", answer(200, "text/html", "\n "+html), model.Error{Class: model.Unusable}, 0},
		{"200 with HTML in a stream", answer(200, "text/event-stream", html), model.Error{Class: model.Unusable}, 0},
		{"200 with a JSON error", answer(200, js, `{"error":{"message":"m","code":"x"}}`), model.Error{Class: model.Unusable, Message: "m"}, 0},
		{"200 with a JSON error that is clear", answer(200, js, coded("insufficient_quota")), model.Error{Class: model.QuotaExhausted, Message: "m"}, 0},
		{"200 with a whole completion", answer(200, js, `{"choices":[{"message":{"content":"a"}}]}`), model.Error{Class: model.Unusable}, 0},
		{"204", answer(204, js, ""), model.Error{Class: model.StreamTruncated}, 0},
		{"a novel", answer(400, js, `{"error":"`+strings.Repeat("word ", 200)+`"}`), model.Error{Class: model.BadRequest, Message: strings.Repeat("word ", 80) + " …"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := model.Collect(t.Context(), serve(t, tt.h), hello)
			e := failure(t, err)
			if e.Class != tt.want.Class || e.Message != tt.want.Message || e.RetryAfter != tt.after {
				t.Errorf("error = %v (after %s), want class %s, message %q, after %s", e, e.RetryAfter, tt.want.Class, tt.want.Message, tt.after)
			}
			if strings.Contains(e.Error(), "DOCTYPE") {
				t.Errorf("error = %v quotes a page", e)
			}
		})
	}
}

func TestRetryAfterDate(t *testing.T) {
	at := time.Now().Add(time.Hour)
	p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", at.UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err := model.Ask(t.Context(), p, hello, nil)
	if e := failure(t, err); e.RetryAfter < 59*time.Minute || e.RetryAfter > time.Hour {
		t.Errorf("RetryAfter = %s, want almost an hour, returned at once", e.RetryAfter)
	}
}

func TestGzip(t *testing.T) {
	p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, events(say("a"), usage, end))
		_ = z.Close()
	})
	if reply, err := model.Collect(t.Context(), p, hello); err != nil || reply.Text != "a" {
		t.Errorf("Collect = %q, %v; want a", reply.Text, err)
	}
}

func TestHangUps(t *testing.T) {
	hangUp := func(before string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, before)
			if before != "" {
				_ = http.NewResponseController(w).Flush()
			}
			panic(http.ErrAbortHandler)
		}
	}
	for before, want := range map[string]model.Class{
		"":               model.ConnReset,
		": ping\n\n":     model.StreamTruncated,
		events(say("a")): model.StreamTruncated,
	} {
		_, err := model.Collect(t.Context(), serve(t, hangUp(before)), hello)
		if e := failure(t, err); e.Class != want {
			t.Errorf("hung up after %q: error = %v, want class %s", before, e, want)
		}
	}
}

func TestUsageIsDisjoint(t *testing.T) {
	tests := []struct {
		name, usage string
		want        model.Usage
	}{
		{"plain", `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`, model.Usage{InputUncached: 10, OutputVisible: 2}},
		{
			"cached and reasoning are part of the totals",
			`{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050,"prompt_tokens_details":{"cached_tokens":900},"completion_tokens_details":{"reasoning_tokens":30}}`,
			model.Usage{InputUncached: 100, CacheRead: 900, OutputVisible: 20, OutputReasoning: 30},
		},
		{
			"details of null",
			`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":null,"completion_tokens_details":null}`,
			model.Usage{InputUncached: 10, OutputVisible: 2},
		},
		{
			"DeepSeek",
			`{"prompt_tokens":1000,"completion_tokens":50,"prompt_cache_hit_tokens":900,"prompt_cache_miss_tokens":100}`,
			model.Usage{InputUncached: 100, CacheRead: 900, OutputVisible: 50},
		},
		{
			"xAI counts reasoning beside the completion",
			`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":45,"completion_tokens_details":{"reasoning_tokens":30}}`,
			model.Usage{InputUncached: 10, OutputVisible: 5, OutputReasoning: 30},
		},
		{
			"details beyond the total",
			`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":99},"completion_tokens_details":{"reasoning_tokens":30}}`,
			model.Usage{CacheRead: 10, OutputReasoning: 5},
		},
		{
			"negative",
			`{"prompt_tokens":10,"completion_tokens":-5,"prompt_tokens_details":{"cached_tokens":-9}}`,
			model.Usage{InputUncached: 10},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t, body(events(say("a"), `{"choices":[],"usage":`+tt.usage+`}`, end)))
			reply, err := model.Collect(t.Context(), p, hello)
			if err != nil || reply.Estimated {
				t.Fatalf("Collect = %+v, %v; want reported usage", reply, err)
			}
			if diff := cmp.Diff(tt.want, reply.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// A turn is what a request could hold: every kind of message, and characters
// that encoders like to escape.
func conversation() model.Request {
	return model.Request{
		Messages: []model.Message{
			{Role: model.System, Text: "You are hob.\n<rules> & \"quotes\"</rules>"},
			{Role: model.User, Text: "Add a greeting."},
			{Role: model.Assistant, Text: "", Calls: []model.Call{
				{ID: "call_1", Name: "read", Args: json.RawMessage(`{ "path":"a<b>.go" }`)},
				{ID: "call_2", Name: "list", Args: json.RawMessage(`{}`)},
			}},
			{Role: model.Tool, CallID: "call_1", Name: "read", Text: "package a\u2028é"},
			{Role: model.Tool, CallID: "call_2", Name: "list", Text: ""},
		},
		Tools: []model.ToolSpec{
			{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"lines":{"type":"string","maxLength":10.0}}}`)},
			{Name: "list", Description: "Lists files."},
		},
		MaxOutput: 100,
		CacheKey:  "prefix",
	}
}

// sent is the body of the request that m makes of req.
func sent(t *testing.T, m configs.Model, req model.Request) []byte {
	t.Helper()
	var got []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("request = %s %s", r.Method, r.URL)
		}
		got, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	m.BaseURL = server.URL + "/v1/"
	_, err := model.Collect(t.Context(), dial(t, m), req)
	if e := failure(t, err); e.Class != model.StreamTruncated {
		t.Fatal(e)
	}
	return got
}

func TestRequestBytes(t *testing.T) {
	tests := []struct {
		name string
		m    configs.Model
	}{
		{"openai", configs.Model{Provider: "openai", Model: "gpt", Tools: "auto"}},
		{"openai-compat", configs.Model{Provider: "openai-compat", Model: "qwen", Tools: "native"}},
		{"text", configs.Model{Provider: "openai-compat", Model: "qwen", Tools: "text"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := append(sent(t, tt.m, conversation()), '\n')
			name := filepath.Join("testdata", "request", tt.name+".json")
			if *update {
				if err := os.WriteFile(name, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got; -update writes it):\n%s", name, diff)
			}
		})
	}
}

// Providers bill a known prefix at a tenth: a conversation that grows must begin
// with the bytes it had.
func TestRequestPrefixIsStable(t *testing.T) {
	m := configs.Model{Provider: "openai", Model: "gpt", Tools: "auto"}
	whole := conversation()
	var before []byte
	for n := 1; n <= len(whole.Messages); n++ {
		req := whole
		req.Messages = whole.Messages[:n]
		if n%2 == 0 {
			req.Tools = []model.ToolSpec{whole.Tools[1], whole.Tools[0]}
			req.MaxOutput = n
		}
		body := sent(t, m, req)
		messages, _, ok := bytes.Cut(body, []byte(`],"stream":true`))
		if !ok {
			t.Fatalf("request %s has no end of messages", body)
		}
		if !bytes.HasPrefix(messages, before) {
			t.Errorf("turn %d begins\n%s\nbut turn %d was\n%s", n, messages, n-1, before)
		}
		before = messages
	}
}

func TestABadSchemaIsABadRequest(t *testing.T) {
	p := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the request was made") })
	req := hello
	req.Tools = []model.ToolSpec{{Name: "read", Schema: json.RawMessage("{")}}
	_, err := model.Collect(t.Context(), p, req)
	if e := failure(t, err); e.Class != model.BadRequest {
		t.Errorf("error = %v, want bad_request", e)
	}
}
