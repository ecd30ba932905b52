package wire_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/configs"
	"hob/engine/model"
	"hob/engine/model/wire/wiretest"
)

const story = `
[[item]]
match = "greeting"
  [[item.step]]
  expect = "add a greeting"
  text = "I look – first. \u2028 ünïcödé <&>"
  calls = [{ name = "read", args = { path = "a.go", lines = "1-9" } }, { name = "list", args = { deep = { a = [1, "two"] } } }]
  usage = { input = 1200, output = 80 }
  [[item.step]]
  error = { class = "server", status = 503, retry_after = "1ms" }
  [[item.step]]
  expect = "package a"
  text = """
a.go
<<<<<<< SEARCH
x
=======
y	"quoted" \\back
>>>>>>> REPLACE
"""
  [[item.step]]
  expect = "never said"
  text = "x"
  [[item.step]]
  error = { class = "context_overflow", status = 400 }
  [[item.step]]
  error = { class = "quota_exhausted", status = 429 }
  [[item.step]]
  error = { class = "auth", status = 401 }
  [[item.step]]
  error = { class = "content_filter" }
  [[item.step]]
  error = { class = "max_tokens" }
  [[item.step]]
  error = { class = "rate_limited", status = 429, retry_after = "2m" }
  [[item.step]]
  error = { class = "stream_error" , retry_after = "1ms" }
  [[item.step]]
  error = { class = "stream_truncated" }
  [[item.step]]
  error = { class = "conn_reset" }
  [[item.step]]
  [[item.step]]
  text = "last"
`

// Every provider tells the same story, however its wire behaves.
func TestConformance(t *testing.T) {
	providers := map[string]func(t *testing.T, s *model.Script) model.Provider{
		"script": func(_ *testing.T, s *model.Script) model.Provider { return s },
		"wire": func(t *testing.T, s *model.Script) model.Provider {
			return overServer(t, s, wiretest.Options{Key: key})
		},
	}
	for seed := range uint64(8) {
		providers[fmt.Sprintf("chaos %d", seed)] = func(t *testing.T, s *model.Script) model.Provider {
			return overServer(t, s, wiretest.Chaos(seed))
		}
	}
	for name, provider := range providers {
		t.Run(name, func(t *testing.T) {
			script, err := model.NewScript([]byte(story), model.Info{ID: "script", Tools: true})
			if err != nil {
				t.Fatal(err)
			}
			tell(t, provider(t, script))
		})
	}
}

func overServer(t *testing.T, s *model.Script, o wiretest.Options) model.Provider {
	t.Helper()
	server := httptest.NewUnstartedServer(wiretest.New(s, o))
	server.Config.ErrorLog = quiet()
	server.Start()
	t.Cleanup(server.Close)
	return dial(t, configs.Model{Provider: "openai-compat", Model: "m", BaseURL: server.URL, Tools: "auto"})
}

// tell plays the story through p.
func tell(t *testing.T, p model.Provider) {
	t.Helper()
	req := model.Request{
		Messages: []model.Message{{Role: model.User, Text: "Please add a greeting."}},
		Item:     model.Item{Text: "greeting"},
	}
	ask := func() (model.Reply, error) {
		t.Helper()
		retries := 0
		reply, err := model.Ask(t.Context(), p, req, func(e *model.Error, _ time.Duration) {
			// The server's own mischief uses up no step.
			if _, scripted := p.(*model.Script); scripted || e.Status == 503 {
				retries++
			}
		})
		req.Item.Answers += 1 + retries
		return reply, err
	}

	got, err := ask()
	want := model.Reply{
		Text: "I look – first. \u2028 ünïcödé <&>",
		Calls: []model.Call{
			{ID: "call_1_1", Name: "read", Args: json.RawMessage(`{"lines":"1-9","path":"a.go"}`)},
			{ID: "call_1_2", Name: "list", Args: json.RawMessage(`{"deep":{"a":[1,"two"]}}`)},
		},
		Usage: model.Usage{InputUncached: 1200, OutputVisible: 80},
		Stop:  model.StopCalls,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("first turn: %v (-want +got):\n%s", err, diff)
	}

	req.Messages = append(
		req.Messages,
		model.Message{Role: model.Assistant, Text: got.Text, Calls: got.Calls},
		model.Message{Role: model.Tool, CallID: "call_1_1", Name: "read", Text: "package a"},
	)
	got, err = ask()
	if wantText := "a.go\n<<<<<<< SEARCH\nx\n=======\ny\t\"quoted\" \\back\n>>>>>>> REPLACE\n"; err != nil || got.Text != wantText || !got.Estimated {
		t.Fatalf("second turn = %+v, %v; want %q, its usage estimated", got, err, wantText)
	}
	// The same reckoning whichever way it came.
	if want := (model.Usage{InputUncached: 49, OutputVisible: 18}); got.Usage != want {
		t.Errorf("estimated usage = %+v, want %+v", got.Usage, want)
	}

	// From here on each step is one call: what is retried is Ask's, and tested there.
	once := func() (model.Reply, error) {
		reply, err := model.Collect(t.Context(), p, req)
		req.Item.Answers++
		return reply, err
	}
	for i, want := range []model.Class{
		"mismatch", model.ContextOverflow, model.QuotaExhausted, model.Auth, model.ContentFilter, model.MaxTokens,
		model.RateLimited, model.StreamError, model.StreamTruncated, model.ConnReset, model.Unusable,
	} {
		_, err := once()
		e := failure(t, err)
		if want == "mismatch" {
			// The wire knows no such class, but shows both sides.
			want = model.BadRequest
			if _, scripted := p.(*model.Script); scripted {
				want = model.ScriptMismatch
			}
			if e.Message != `item 1, step 4 expected "never said", heard "package a"` {
				t.Errorf("mismatch = %q", e.Message)
			}
		}
		if e.Class != want {
			t.Errorf("step %d: error = %v, want class %s", i+4, e, want)
		}
		if e.Class == model.RateLimited && e.RetryAfter != 2*time.Minute {
			t.Errorf("RetryAfter = %s, want 2m", e.RetryAfter)
		}
	}
	if got, err := once(); err != nil || got.Text != "last" {
		t.Errorf("last step = %q, %v", got.Text, err)
	}
	if _, err := once(); failure(t, err).Class != model.Unusable {
		t.Errorf("used up: error = %v, want class unusable_response", err)
	}
}

func TestChaosShowsItself(t *testing.T) {
	script, err := model.NewScript([]byte("[[item]]\nmatch = '.'\n[[item.step]]\ntext = 'a long enough text'\n"), model.Info{})
	if err != nil {
		t.Fatal(err)
	}
	p := overServer(t, script, wiretest.Chaos(3))
	var met []model.Class
	reply, err := model.Ask(t.Context(), p, hello, func(e *model.Error, _ time.Duration) { met = append(met, e.Class) })
	if err != nil || reply.Text != "a long enough text" {
		t.Errorf("Ask = %q, %v; want the script's text", reply.Text, err)
	}
	if diff := cmp.Diff([]model.Class{model.RateLimited, model.StreamTruncated}, met); diff != "" {
		t.Errorf("retried (-want +got):\n%s", diff)
	}
}

func TestServerRefuses(t *testing.T) {
	script, err := model.NewScript([]byte(story), model.Info{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(wiretest.New(script, wiretest.Options{Key: "another key"}))
	defer server.Close()
	p := dial(t, configs.Model{Provider: "openai-compat", Model: "m", BaseURL: server.URL})
	if _, err := model.Collect(t.Context(), p, hello); failure(t, err).Class != model.Auth {
		t.Errorf("error = %v with a wrong key, want class auth", err)
	}
	resp, err := server.Client().Get(server.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("GET /v1/models = %d, want 404", resp.StatusCode)
	}
}

// A server can be told where in the prompt the item's text stands.
func TestServerFindsTheItem(t *testing.T) {
	script, err := model.NewScript([]byte(`
[[item]]
match = "^b$"
[[item.step]]
text = "first of b"
[[item.step]]
text = "second of b"
[[item]]
match = "^a$"
[[item.step]]
text = "first of a"
`), model.Info{})
	if err != nil {
		t.Fatal(err)
	}
	last := func(ms []model.Message) string { return ms[len(ms)-1].Text }
	p := overServer(t, script, wiretest.Options{Text: last})
	var got []string
	for _, item := range []string{"b", "a", "b"} {
		reply, err := model.Collect(t.Context(), p, model.Request{Messages: []model.Message{
			{Role: model.User, Text: "house rules about b"},
			{Role: model.User, Text: item},
		}})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, reply.Text)
	}
	if diff := cmp.Diff([]string{"first of b", "first of a", "second of b"}, got); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
}
