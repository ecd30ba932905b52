package wire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/configs"
	"hob/engine/model"
	"hob/engine/model/wire"
)

const key = "sk-held-1234567890"

// serve is a provider whose server is h.
func serve(t *testing.T, h http.HandlerFunc) model.Provider {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return dial(t, configs.Model{Provider: "openai-compat", Model: "m", BaseURL: server.URL + "/v1", Tools: "auto"})
}

func dial(t *testing.T, m configs.Model) model.Provider {
	t.Helper()
	p, err := wire.New(m, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func failure(t *testing.T, err error) *model.Error {
	t.Helper()
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		t.Fatalf("error = %v, want a *model.Error", err)
	}
	return e
}

var hello = model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}}

func TestNew(t *testing.T) {
	tests := []struct {
		name string
		m    configs.Model
		key  string
		want string // part of the error; empty: none
	}{
		{"openai's default", configs.Model{Provider: "openai", Model: "m"}, key, ""},
		{"openai without a key", configs.Model{Provider: "openai", Model: "m"}, "", "no secret: https://api.openai.com/v1 needs a key"},
		{"https anywhere", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "https://models.example/v1/"}, "", ""},
		{"http on loopback", configs.Model{Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1"}, "", ""},
		{"http on IPv6 loopback", configs.Model{Provider: "openai", Model: "m", BaseURL: "http://[::1]:1"}, "", ""},
		{"http on localhost", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "http://LocalHost:11434/v1"}, "", ""},
		{"http in a private network", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "http://192.168.1.5/v1"}, "", ""},
		{"http in public", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "http://8.8.8.8/v1"}, "", "plain http"},
		{"http by name", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "http://models.example/v1"}, "", "plain http"},
		{"http by a name like localhost", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "http://localhost.example/v1"}, "", "plain http"},
		{"no base", configs.Model{Provider: "openai-compat", Model: "m"}, key, "is needed"},
		{"no URL", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "http://\x7f" + key}, "", "is not a URL"},
		{"no scheme", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "127.0.0.1:80"}, "", "is not a URL"},
		{"file", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "file://host/etc/passwd"}, "", "scheme"},
		{"key in the URL", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "https://u:" + key + "@h/v1"}, "", "secret_ref"},
		{"key in the query", configs.Model{Provider: "openai-compat", Model: "m", BaseURL: "https://h/v1?key=" + key}, "", "only"},
		{"no model", configs.Model{Provider: "openai"}, key, "has no name"},
		{"later", configs.Model{Provider: "anthropic", Model: "m"}, key, "not available yet"},
		{"key with a line break", configs.Model{Provider: "openai", Model: "m"}, key + "\r\nX: y", "characters"},
		{"header with a line break", configs.Model{Provider: "openai", Model: "m", Headers: map[string]string{"X-A": "b\r\nc"}}, key, `"X-A" is no header`},
		{"header with a space", configs.Model{Provider: "openai", Model: "m", Headers: map[string]string{"X A": "b"}}, key, `"X A" is no header`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := wire.New(tt.m, tt.key, nil)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("New error = %v, want none", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("New error = %v, want one with %q", err, tt.want)
			case err != nil && strings.Contains(err.Error(), key):
				t.Errorf("New error = %v shows the key", err)
			}
		})
	}
}

func TestInfo(t *testing.T) {
	p := dial(t, configs.Model{Provider: "openai", Model: "gpt", Tools: "auto"})
	if i := p.Info(); i.ID != "openai:gpt" || i.Host != "api.openai.com" || !i.Tools {
		t.Errorf("Info = %+v, want openai:gpt at api.openai.com with tools", i)
	}
	if i := dial(t, configs.Model{Provider: "openai", Model: "gpt", Tools: "text"}).Info(); i.Tools {
		t.Error("Info.Tools = true, want false for text")
	}
}

func TestTheKeyGoesIntoTheRequestAndNowhereElse(t *testing.T) {
	var got http.Header
	p := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"code":"invalid_api_key","message":"Incorrect API key provided:\n` + key + `"}}`))
	})
	_, err := model.Collect(t.Context(), p, hello)
	e := failure(t, err)
	if got.Get("Authorization") != "Bearer "+key {
		t.Errorf("Authorization = %q, want the key", got.Get("Authorization"))
	}
	if e.Class != model.Auth || e.Message != "Incorrect API key provided: [redacted:held]" {
		t.Errorf("error = %v, want auth with a masked message on one line", e)
	}
}

func TestConfiguredHeaders(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error":"you said my-own-secret-header"}`))
	}))
	defer server.Close()
	p := dial(t, configs.Model{
		Provider: "openai-compat", Model: "m", BaseURL: server.URL,
		Headers: map[string]string{"authorization": "Basic abc", "X-Title": "my-own-secret-header"},
	})
	_, err := model.Collect(t.Context(), p, hello)
	if got.Get("Authorization") != "Basic abc" || got.Get("X-Title") != "my-own-secret-header" {
		t.Errorf("headers = %v, want the configured ones", got)
	}
	if e := failure(t, err); e.Message != "you said [redacted:held]" {
		t.Errorf("message = %q, want header values masked too", e.Message)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		p := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) })
		_, err := model.Collect(t.Context(), p, hello)
		if e := failure(t, err); e.Class != model.BadRequest || e.Status != status {
			t.Errorf("error = %v, want bad_request with status %d", e, status)
		}
	}
}

func TestUnreachable(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		class model.Class
	}{
		{"no such name", &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, model.DNS},
		{"dial timed out", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, model.Connect},
		{"reset", &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, model.ConnReset},
		{"closed", io.EOF, model.ConnReset},
		{"closed in the headers", fmt.Errorf("read headers: %w", io.ErrUnexpectedEOF), model.ConnReset},
		{"alert", &net.OpError{Op: "remote error", Err: tls.AlertError(40)}, model.TLS},
		{"no TLS there", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, model.TLS},
		{"something else", errors.New("connection refused"), model.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := over(t, func(*http.Request) (*http.Response, error) { return nil, tt.err })
			_, err := model.Collect(t.Context(), p, hello)
			if e := failure(t, err); e.Class != tt.class || !errors.Is(e, tt.err) {
				t.Errorf("error = %v, want class %s because of %v", e, tt.class, tt.err)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		p := dial(t, configs.Model{Provider: "openai-compat", Model: "m", BaseURL: server.URL})
		_, err := model.Collect(t.Context(), p, hello)
		if e := failure(t, err); e.Class != model.Connect {
			t.Errorf("error = %v, want class connect", e)
		}
	})
}

func TestAnUnknownCertificateIsNeverRetried(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	defer server.Close()
	p := dial(t, configs.Model{Provider: "openai-compat", Model: "m", BaseURL: server.URL})
	retried := func(e *model.Error, _ time.Duration) { t.Errorf("retried after %v", e) }
	_, err := model.Ask(t.Context(), p, hello, retried)
	if e := failure(t, err); e.Class != model.TLS {
		t.Errorf("error = %v, want class tls", e)
	}
}

func TestCancelEndsACallAtOnce(t *testing.T) {
	came, gone := make(chan struct{}), make(chan struct{})
	p := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		close(came)
		<-r.Context().Done()
		close(gone)
	})
	why := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-came; cancel(why) }() // ends because the handler closes came
	_, err := model.Collect(ctx, p, hello)
	if e := failure(t, err); e.Class != model.Cancelled || !errors.Is(e, why) {
		t.Errorf("error = %v, want cancelled because of %v", e, why)
	}
	<-gone
}
