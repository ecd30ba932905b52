package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/configs"
	"hob/engine/model"
	"hob/engine/model/wire"
)

// roundTrip is a network without sockets: time in it is synctest's.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func over(t *testing.T, rt roundTrip) model.Provider {
	t.Helper()
	p, err := wire.New(configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "http://127.0.0.1:1"}, "", rt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A piece is sent after a silence.
type piece struct {
	after time.Duration
	text  string
}

// speaking answers with pieces and then says nothing more, without hanging up.
// The body ends when it is closed, as a connection's does.
func speaking(headers time.Duration, pieces ...piece) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(headers):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		out, in := io.Pipe()
		go func() { // ends with the request
			for _, p := range pieces {
				select {
				case <-time.After(p.after):
				case <-r.Context().Done():
					return
				}
				if _, err := io.WriteString(in, p.text); err != nil {
					return
				}
			}
		}()
		return &http.Response{StatusCode: http.StatusOK, Body: out}, nil
	}
}

func TestSilenceIsBoundedAndWorkIsNot(t *testing.T) {
	repeated := func(n int, p piece) []piece {
		ps := make([]piece, n)
		for i := range ps {
			ps[i] = p
		}
		return ps
	}
	ping, word := ": ping\n\n", events(say("a"))
	tests := []struct {
		name    string
		headers time.Duration
		pieces  []piece
		class   model.Class // empty: a reply
		cause   error
		took    time.Duration
	}{
		{"no headers", time.Hour, nil, model.HeaderTimeout, nil, 2 * time.Minute},
		{"late headers", 119 * time.Second, []piece{{0, word + events(end)}}, "", nil, 119 * time.Second},
		{"no byte", 0, nil, model.Silent, wire.ErrSilent, 3 * time.Minute},
		{"a late byte", 0, []piece{{179 * time.Second, word + events(end)}}, "", nil, 179 * time.Second},
		{"silent after a byte", 0, []piece{{time.Second, word}}, model.Silent, wire.ErrSilent, 91 * time.Second},
		{"silent inside an event", 0, []piece{{time.Second, "data: {"}}, model.Silent, wire.ErrSilent, 91 * time.Second},
		{"slow but alive", 0, append(repeated(100, piece{89 * time.Second, word}), piece{0, events(end)}), "", nil, 100 * 89 * time.Second},
		{"kept alive while it thinks", 0, append(repeated(6, piece{89 * time.Second, ping}), piece{time.Second, word + events(end)}), "", nil, 6*89*time.Second + time.Second},
		{"kept alive by blank lines", 0, repeated(100, piece{50 * time.Second, "\n"}), model.Silent, wire.ErrSilent, 10 * time.Minute},
		{"kept alive for ever", 0, repeated(100, piece{50 * time.Second, ping}), model.Silent, wire.ErrSilent, 10 * time.Minute},
		{"kept alive after an event", 0, append([]piece{{time.Minute, word}}, repeated(100, piece{50 * time.Second, ping})...), model.Silent, wire.ErrSilent, 11 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := model.Collect(t.Context(), over(t, speaking(tt.headers, tt.pieces...)), hello)
				took := time.Since(began)
				if tt.class == "" {
					if err != nil || took != tt.took {
						t.Fatalf("Collect = %v after %s, want a reply after %s", err, took, tt.took)
					}
					return
				}
				e := failure(t, err)
				if e.Class != tt.class || tt.cause != nil && !errors.Is(e, tt.cause) {
					t.Errorf("error = %v, want class %s", e, tt.class)
				}
				if took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

// The time that the caller takes between events is not the server's silence.
func TestASlowCallerIsNotASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := over(t, speaking(0, piece{0, events(say("a"))}, piece{0, events(say("b"), end)}))
		n := 0
		for _, err := range p.Stream(t.Context(), hello) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			<-time.After(time.Hour)
		}
		if n != 3 {
			t.Errorf("%d events, want 3", n)
		}
	})
}

func TestCancelWhileWaitingForHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(why) })
		_, err := model.Collect(ctx, over(t, speaking(time.Hour)), hello)
		if e := failure(t, err); e.Class != model.Cancelled || !errors.Is(e, why) {
			t.Errorf("error = %v, want cancelled because of %v", e, why)
		}
	})
}

// canned answers with a body.
func canned(body io.Reader) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body)}, nil
	}
}

// Whatever a server sends, and in whichever portions, the turn is a reply or a
// typed error, and the portions make no difference.
func FuzzStream(f *testing.F) {
	f.Add([]byte(events(say("a"), fragments(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`), stop("tool_calls"), usage, end)))
	f.Add([]byte("event: error\r\ndata: {\"message\":\"m\"}\r\r"))
	f.Add([]byte("\ufeffdata: [DONE]"))
	f.Add([]byte(`[{"error":{"code":429}}]`))
	f.Add([]byte(events(`{"choices":[{"delta":{"tool_calls":[{"index":-1},{"index":9e9}]}}]}`, `{"usage":{"prompt_tokens":-1}}`, end)))
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, err := model.Collect(t.Context(), over(t, canned(bytes.NewReader(body))), hello)
		if err != nil {
			failure(t, err)
		}
		split, splitErr := model.Collect(t.Context(), over(t, canned(iotest.OneByteReader(bytes.NewReader(body)))), hello)
		if diff := cmp.Diff(whole, split); diff != "" {
			t.Errorf("reply (-whole +split):\n%s", diff)
		}
		if (err == nil) != (splitErr == nil) || err != nil && err.Error() != splitErr.Error() {
			t.Errorf("error = %v whole, %v split", err, splitErr)
		}
		if u := whole.Usage; min(u.InputUncached, u.CacheRead, u.OutputVisible, u.OutputReasoning) < 0 {
			t.Errorf("usage %+v is negative", u)
		}
	})
}
