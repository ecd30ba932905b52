// Package wiretest is the double of OpenAI's wire: a server that speaks streamed
// chat completions as badly as real ones do, and says what a script says.
//
// What works with [model.Script] as the provider must work through [wire] against
// a [Server] over the same script; the tests of whole items run both ways. With
// [Chaos] the server cuts its events at random bytes, spreads arguments over
// fragments, slips comments in between, answers one request with a 429 and
// drops one stream half-way. None of that uses up a step of the script.
//
//	script, err := model.NewScript(data, model.Info{ID: "script"})
//	server := httptest.NewServer(wiretest.New(script, wiretest.Chaos(1)))
//
// It is real HTTP on a loopback port, so the request's bytes, the key and the
// transport are exercised too.
package wiretest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/engine/model"
)

// Options say how badly a server behaves. The zero value behaves well.
type Options struct {
	Seed     uint64 // of everything random below
	Split    bool   // events are cut at random bytes, one write each
	Fragment bool   // text and arguments come in pieces of a few characters
	Comments bool   // keep-alive comments stand between events
	Limit    bool   // the first request is answered by a 429 with Retry-After: 0
	Cut      bool   // the first stream ends half-way
	Key      string // when set, requests without it get a 401

	// Text finds the item's text in the messages. The default joins all user
	// messages with line feeds, so a script's match should not be anchored.
	Text func([]model.Message) string
}

// Chaos are all misbehaviours at once.
func Chaos(seed uint64) Options {
	return Options{Seed: seed, Split: true, Fragment: true, Comments: true, Limit: true, Cut: true}
}

// A Server plays a script to whoever posts to a path that ends in
// /chat/completions. It counts the answers of each item itself, over the whole
// of its life. It may serve several requests at once.
type Server struct {
	script *model.Script
	opt    Options

	mu      sync.Mutex
	rand    *rand.Rand
	answers map[int]int // by item
	limited bool
	cut     bool
}

// New makes a server over a script.
func New(script *model.Script, o Options) *Server {
	if o.Text == nil {
		o.Text = userText
	}
	return &Server{
		script:  script,
		opt:     o,
		rand:    rand.New(rand.NewPCG(o.Seed, o.Seed)),
		answers: map[int]int{},
	}
}

func userText(ms []model.Message) string {
	var texts []string
	for _, m := range ms {
		if m.Role == model.User {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		refuse(w, http.StatusNotFound, "not_found", "only POST …/chat/completions is served")
		return
	}
	if s.opt.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.opt.Key {
		refuse(w, http.StatusUnauthorized, "invalid_api_key", "incorrect API key provided")
		return
	}
	messages, err := readMessages(r.Body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if s.opt.Limit && s.first(&s.limited) {
		w.Header().Set("Retry-After", "0")
		refuse(w, http.StatusTooManyRequests, "rate_limit_exceeded", "too many requests")
		return
	}
	n, item := s.take(messages)
	reply, err := model.Collect(r.Context(), s.script, model.Request{Messages: messages, Item: item})
	cut := err == nil && s.opt.Cut && s.first(&s.cut)
	if cut {
		s.giveBack(n)
	}
	if e, ok := errors.AsType[*model.Error](err); ok {
		s.fail(w, e)
		return
	}
	s.stream(w, reply, cut)
}

// first is true once for each flag.
func (s *Server) first(flag *bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := *flag
	*flag = true
	return !was
}

// take uses up a step of the item that the messages are about.
func (s *Server) take(ms []model.Message) (n int, item model.Item) {
	item.Text = s.opt.Text(ms)
	n, _ = s.script.Find(item.Text)
	s.mu.Lock()
	defer s.mu.Unlock()
	item.Answers = s.answers[n]
	s.answers[n]++
	return n, item
}

func (s *Server) giveBack(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[n]--
}

// dice makes the random numbers of one response.
func (s *Server) dice() *rand.Rand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rand.New(rand.NewPCG(s.rand.Uint64(), s.rand.Uint64()))
}

// fail shows a scripted error as a server would: by a status, inside a stream, or
// by hanging up.
func (s *Server) fail(w http.ResponseWriter, e *model.Error) {
	if r, ok := refusals[e.Class]; ok {
		if e.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
			w.Header().Set("Retry-After-Ms", strconv.FormatInt(e.RetryAfter.Milliseconds(), 10))
		}
		refuse(w, cmp.Or(e.Status, r.status), r.code, e.Message)
		return
	}
	switch e.Class {
	case model.Unusable:
		s.stream(w, model.Reply{Stop: model.StopEnd}, false)
	case model.MaxTokens:
		s.stream(w, model.Reply{Stop: model.StopLength}, false)
	case model.ContentFilter:
		s.stream(w, model.Reply{Stop: model.StopFilter}, false)
	case model.StreamTruncated:
		s.stream(w, model.Reply{Text: e.Message}, true)
	case model.StreamError:
		d := s.dice()
		s.send(w, d, s.events(d, []any{errorBody("server_error", e.Message)}))
	default:
		panic(http.ErrAbortHandler) // net/http's way to hang up without a trace
	}
}

// refusals are the classes that are statuses.
var refusals = map[model.Class]struct {
	status int
	code   string
}{
	model.RateLimited:     {http.StatusTooManyRequests, "rate_limit_exceeded"},
	model.QuotaExhausted:  {http.StatusTooManyRequests, "insufficient_quota"},
	model.Server:          {http.StatusInternalServerError, "server_error"},
	model.RequestTimeout:  {http.StatusRequestTimeout, "timeout"},
	model.Auth:            {http.StatusUnauthorized, "invalid_api_key"},
	model.BadRequest:      {http.StatusBadRequest, "invalid_request_error"},
	model.ContextOverflow: {http.StatusBadRequest, "context_length_exceeded"},
	model.ScriptMismatch:  {http.StatusUnprocessableEntity, "script_mismatch"},
}

// stream sends a reply, or about half of it.
func (s *Server) stream(w http.ResponseWriter, reply model.Reply, cut bool) {
	d := s.dice()
	body := append(s.events(d, s.chunks(d, reply)), "data: [DONE]\n\n"...)
	if !cut {
		s.send(w, d, body)
		return
	}
	s.send(w, d, body[:len(body)/2])
	if d.IntN(2) == 0 {
		panic(http.ErrAbortHandler)
	}
}

// chunks are the JSON values of a reply's events.
func (s *Server) chunks(d *rand.Rand, reply model.Reply) []any {
	out := []any{delta(object{"role": "assistant", "content": ""}, nil)}
	for _, piece := range s.pieces(d, reply.Text) {
		out = append(out, delta(object{"content": piece}, nil))
	}
	for i, c := range reply.Calls {
		head := object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}
		out = append(out, delta(object{"tool_calls": []any{head}}, nil))
		for _, piece := range s.pieces(d, string(c.Args)) {
			part := object{"index": i, "function": object{"arguments": piece}}
			out = append(out, delta(object{"tool_calls": []any{part}}, nil))
		}
	}
	out = append(out, delta(object{}, reply.Stop))
	if u := reply.Usage; u != (model.Usage{}) && !reply.Estimated {
		out = append(out, object{"object": "chat.completion.chunk", "choices": []any{}, "usage": object{
			"prompt_tokens":     u.InputUncached,
			"completion_tokens": u.OutputVisible,
			"total_tokens":      u.InputUncached + u.OutputVisible,
		}})
	}
	return out
}

// An object is JSON whose shape is the wire's.
type object map[string]any

func delta(d object, stop any) object {
	choice := object{"index": 0, "delta": d, "finish_reason": stop}
	return object{"object": "chat.completion.chunk", "choices": []any{choice}}
}

// pieces takes text apart between characters: a JSON string can't hold half of one.
func (s *Server) pieces(d *rand.Rand, text string) []string {
	if text == "" {
		return nil
	}
	if !s.opt.Fragment {
		return []string{text}
	}
	var out []string
	for runes := []rune(text); len(runes) > 0; {
		n := 1 + d.IntN(min(16, len(runes)))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}

// events are the chunks as server-sent events.
func (s *Server) events(d *rand.Rand, chunks []any) []byte {
	end := "\n"
	if s.opt.Split && d.IntN(2) == 0 {
		end = "\r\n"
	}
	var b bytes.Buffer
	for _, c := range chunks {
		if s.opt.Comments && d.IntN(4) == 0 {
			b.WriteString(": keep-alive" + end + end)
		}
		data, err := json.Marshal(c)
		if err != nil {
			panic(fmt.Sprintf("wiretest: chunk %v: %v", c, err)) // objects of strings and numbers
		}
		b.WriteString("data: " + string(data) + end + end)
	}
	return b.Bytes()
}

// send writes a successful response, in random portions where that is asked for.
func (s *Server) send(w http.ResponseWriter, d *rand.Rand, body []byte) {
	w.Header().Set("Content-Type", "text/event-stream")
	portion := 1 + len(body)/20 // about 40 writes, of any size from one byte
	flush := http.NewResponseController(w)
	for len(body) > 0 {
		n := len(body)
		if s.opt.Split {
			n = 1 + d.IntN(min(n, portion))
		}
		if _, err := w.Write(body[:n]); err != nil {
			return // the client has gone
		}
		if err := flush.Flush(); err != nil {
			return
		}
		body = body[n:]
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(errorBody(code, message)) // the client may have gone
}

func errorBody(code, message string) object {
	return object{"error": object{"code": code, "type": code, "message": message}}
}

// readMessages reads what the script may look at.
func readMessages(body io.Reader) ([]model.Message, error) {
	var req struct {
		Messages []struct {
			Role    model.Role `json:"role"`
			Content *string    `json:"content"`
		} `json:"messages"`
		Stream bool `json:"stream"`
	}
	if err := json.NewDecoder(body).Decode(&req); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if !req.Stream {
		return nil, errors.New("only streams are served")
	}
	var out []model.Message
	for _, m := range req.Messages {
		msg := model.Message{Role: m.Role}
		if m.Content != nil {
			msg.Text = *m.Content
		}
		out = append(out, msg)
	}
	return out, nil
}
