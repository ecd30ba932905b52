package configs

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// whole applies the rules about several keys of one table and fills in what follows from them.
func (d *decoder) whole(n *node, s spot, v reflect.Value) bool {
	switch entry := v.Addr().Interface().(type) {
	case *Model:
		return d.model(n, s, entry)
	case *Price:
		return d.price(n, s, entry)
	case *Validator:
		return d.validator(n, s, entry)
	default:
		return true
	}
}

// given tells whether a table sets a key to more than an empty string or array. A value of the
// wrong type is given: that it is wrong has been said already.
func given(n *node, key string) bool {
	f := n.index[key]
	if f == nil {
		return false
	}
	switch f.value.kind {
	case aString:
		return f.value.text != ""
	case anArray:
		return len(f.value.items) > 0
	default:
		return true
	}
}

func (d *decoder) need(n *node, s spot, key, why string) bool {
	return given(n, key) || d.no(spot{key: s.key + "." + key, at: s.at}, "is missing", why)
}

func (d *decoder) model(n *node, s spot, m *Model) bool {
	switch {
	case n.index["provider"] == nil:
		return d.no(spot{key: s.key + ".provider", at: s.at}, "is missing", "")
	case m.Provider == "script":
		return d.need(n, s, "script", "name the file with the scripted answers")
	case m.Provider == "openai-compat":
		url := d.need(n, s, "base_url", `provider "openai-compat" has no endpoint of its own`)
		return d.need(n, s, "model", "") && url
	case m.Provider == "openai" && m.SecretRef == "" && m.BaseURL == "":
		m.SecretRef = "env:OPENAI_API_KEY"
	}
	return d.need(n, s, "model", "")
}

func (d *decoder) price(n *node, s spot, p *Price) bool {
	input := d.need(n, s, "input", "write 0 for a model that costs nothing")
	output := d.need(n, s, "output", "write 0 for a model that costs nothing")
	if !given(n, "cache_read") {
		p.CacheRead = p.Input
	}
	if !given(n, "cache_write") {
		p.CacheWrite = p.Input
	}
	return input && output
}

func (d *decoder) validator(n *node, s spot, v *Validator) bool {
	named := d.need(n, s, "name", "")
	run, argv := given(n, "run"), given(n, "argv")
	switch {
	case run && argv:
		return d.no(spot{key: s.key + ".argv", at: n.index["argv"].at}, "stands beside run", "keep one of the two")
	case !run && !argv:
		return d.no(s, "has neither run nor argv", `add run = "go test ./..."`)
	case v.Run != "" && strings.TrimSpace(v.Run) == "":
		return d.no(spot{key: s.key + ".run", at: n.index["run"].value.at}, "is empty", "")
	case len(v.Argv) > 0 && v.Argv[0] == "":
		return d.no(spot{key: s.key + ".argv", at: n.index["argv"].value.at}, "names no program", "")
	}
	return named
}

// unique refuses two validators of one name, in whatever case: their names become file names,
// and not every file system tells cases apart.
func (d *decoder) unique(n *node, s spot, validators []Validator) bool {
	ok := true
	seen := map[string]bool{}
	for i, v := range validators {
		name := strings.ToLower(v.Name)
		if name != "" && seen[name] {
			one := spot{key: fmt.Sprintf("%s[%d].name", s.key, i), at: n.items[i].index["name"].value.at}
			ok = d.no(one, quote(v.Name)+" is the name of another validator", "")
		}
		seen[name] = true
	}
	return ok
}

// entry applies the rules about one pair of a table with free keys. It never echoes the value.
func (d *decoder) entry(f *field, s spot) bool {
	switch s.rule {
	case "validators.env[]":
		if what, hint := variableName(f.name); what != "" {
			s.at = f.at
			return d.no(s, what, hint)
		}
		return !strings.ContainsRune(f.value.text, 0) || d.no(s, "has a NUL byte", "")
	case "model.headers[]":
		return d.header(f, s)
	default:
		return true
	}
}

// headerChars are those of a token in RFC 9110 §5.6.2 that occur in real header names.
const headerChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// secretWords are parts of the names of headers that carry credentials.
var secretWords = map[string]bool{
	"auth": true, "authorization": true, "authentication": true, "apikey": true, "key": true, "token": true,
	"secret": true, "cookie": true, "password": true, "credential": true, "credentials": true,
}

func (d *decoder) header(f *field, s spot) bool {
	if f.name == "" || strings.Trim(f.name, headerChars) != "" {
		s.at = f.at
		return d.no(s, "is not the name of a header", "")
	}
	secret := looksLikeSecret(f.value.text)
	for word := range strings.FieldsFuncSeq(strings.ToLower(f.name), func(r rune) bool { return r < 'a' || r > 'z' }) {
		secret = secret || secretWords[word]
	}
	if secret {
		return d.no(s, "carries a secret", "use secret_ref: hob sends the key itself")
	}
	if strings.ContainsAny(f.value.text, "\r\n\x00") {
		return d.no(s, "has a line break", "")
	}
	return true
}

// secretStarts begin the keys that providers, clouds and forges hand out today.
var secretStarts = []string{
	"sk-", "sk_live_", "pk-", "rk-", "xai-", "gsk_", "hf_", "r8_", "pplx-", "AIza", "AKIA", "ASIA", "eyJ",
	"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-",
}

// looksLikeSecret recognises well-known keys by their first characters. It is for values that
// should be names or references: there, a false alarm costs nothing.
func looksLikeSecret(s string) bool {
	s = strings.TrimSpace(s)
	for _, scheme := range []string{"Bearer ", "Basic "} { // RFC 9110 §11.4
		if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
			return true
		}
	}
	// No provider's keys are shorter than 20 characters; names of variables mostly are.
	return len(s) >= 20 && slices.ContainsFunc(secretStarts, func(start string) bool {
		return strings.HasPrefix(s, start)
	})
}

// secretRef takes a reference to a key. No message repeats the value: it may be the key.
func secretRef(ref string) (what, hint string) {
	if ref == "" {
		return "", ""
	}
	scheme, name, ok := strings.Cut(ref, ":")
	if !ok || looksLikeSecret(ref) {
		return "is not a reference; a key must not stand in a file", `write "env:NAME" or "file:PATH"`
	}
	switch scheme {
	case "env":
		if what, _ := variableName(name); what != "" {
			return what, `write "env:NAME"`
		}
	case "file":
		if strings.TrimSpace(name) == "" || looksLikeSecret(name) {
			return "is not the path of a file", `write "file:PATH"`
		}
		return noControl(name)
	case "command", "systemd", "keyring":
		return scheme + ": is not available yet", `use "env:NAME" or "file:PATH"`
	default:
		return "is not a reference hob knows", `write "env:NAME" or "file:PATH"`
	}
	return "", ""
}

// baseURL takes an endpoint that keys may be sent to: https anywhere, http only where the
// packets stay on this machine or in a private network.
func baseURL(text string) (what, hint string) {
	if text == "" {
		return "", ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "is not an http or https URL", ""
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "holds more than scheme, host and path", "use secret_ref for a key"
	case u.Scheme == "http" && !private(u.Hostname()):
		return "would send the key over plain http", "use https"
	}
	return "", ""
}

// private tells whether a host is this machine or in a network of one's own. A name without a
// dot can only be resolved locally.
func private(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") ||
		strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}
