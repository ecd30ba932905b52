// Package wire speaks the protocols of model providers over HTTP.
//
// There is one adapter for each protocol, and all stand on the same transport:
// the key is put in last, redirects are not followed (Go would carry custom key
// headers along), nothing is retried (that is [model.Ask]'s), and a watchdog
// bounds silence but never work: a model may write for an hour as long as it
// writes.
//
// So far there is OpenAI's chat completions, which most servers imitate: Ollama,
// vLLM, llama.cpp, LM Studio, OpenRouter, DeepSeek, Groq. Its adapter is written
// by hand over net/http, because the client libraries hide what decides here
// whether a turn happened: go-openai v1.43.0 gives io.EOF for "[DONE]" as well
// as for a cut connection (stream_reader.go, processLines), counts keep-alive
// comments as errors after 300 of them, sees an error inside the stream only when
// it is spelled `{"error":` at the start of a line, and reads lines of any
// length into memory.
//
// Keys come from [Secret] and go nowhere but into the request: errors quote
// servers, which quote keys, so the key is masked there first.
package wire

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"hob/configs"
	"hob/engine/model"
	"hob/journal/redact"
)

// providers has a line for each kind that can be reached by now.
var providers = map[string]func(endpoint, model.Info) model.Provider{
	"openai":        newOpenAI,
	"openai-compat": newOpenAI,
}

// New makes the provider of a [[model]] entry. key may be empty for servers that
// want none. rt carries the requests; nil means a transport with its own
// connections and this package's time limits. Whoever hands one in must not let
// it follow redirects or time whole calls. No request is made.
func New(m configs.Model, key string, rt http.RoundTripper) (model.Provider, error) {
	build, ok := providers[m.Provider]
	if !ok {
		return nil, fmt.Errorf("model provider %q is not available yet", m.Provider)
	}
	if m.Model == "" {
		return nil, fmt.Errorf("model of provider %s has no name", m.Provider)
	}
	if m.Provider == "openai" {
		m.BaseURL = cmp.Or(m.BaseURL, openAIBase)
	}
	base, err := parseBase(m.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url of %s: %w", m.Model, err)
	}
	if m.BaseURL == openAIBase && key == "" {
		return nil, fmt.Errorf("%w: %s needs a key", ErrSecret, m.BaseURL)
	}
	header, err := headers(m.Headers, key)
	if err != nil {
		return nil, fmt.Errorf("headers of %s: %w", m.Model, err)
	}
	if rt == nil {
		rt = newTransport()
	}
	info := model.InfoOf(m)
	secrets := append(slices.Collect(maps.Values(m.Headers)), key)
	return build(endpoint{
		base:   base,
		header: header,
		rt:     rt,
		id:     info.ID,
		mask:   redact.New(secrets...),
	}, info), nil
}

// parseBase checks where a key would be sent to.
func parseBase(s string) (*url.URL, error) {
	if s == "" {
		return nil, errors.New("is needed for this provider")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL") // the cause would quote what may hold a key
	case u.User != nil:
		return nil, errors.New("holds a user or password; use secret_ref")
	case u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must be scheme, host and path only")
	case u.Scheme == "http" && !private(u.Hostname()):
		return nil, errors.New("is plain http to a public host; use https")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("has scheme %q; use https", u.Scheme)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// private tells whether host is this machine or an address of a private network
// (RFC 1918, RFC 4193). Other names are not looked up: what they resolve to can
// change between the look and the call.
func private(host string) bool {
	host = strings.ToLower(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.Unmap().IsLoopback() || addr.Unmap().IsPrivate())
}

// headers are those of the configuration with the key added, unless they
// authorize in their own way. net/http would refuse a bad one too, but only at
// the first call, in the middle of an item.
func headers(configured map[string]string, key string) (http.Header, error) {
	h := http.Header{}
	for name, value := range configured {
		if name == "" || strings.ContainsFunc(name, notToken) || strings.ContainsFunc(value, control) {
			return nil, fmt.Errorf("%q is no header", name)
		}
		h.Set(name, value)
	}
	if strings.ContainsFunc(key, control) {
		return nil, errors.New("the key holds characters that no key has")
	}
	if key != "" && h.Get("Authorization") == "" {
		h.Set("Authorization", "Bearer "+key)
	}
	return h, nil
}

// tokenChars are what a header's name is made of (RFC 9110 §5.6.2).
const tokenChars = "!#$%&'*+-.^_`|~0123456789" +
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func notToken(r rune) bool { return !strings.ContainsRune(tokenChars, r) }

// control tells what must not be in a header's value (RFC 9110 §5.5).
func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
