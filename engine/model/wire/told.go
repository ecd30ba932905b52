package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"hob/engine/model"
)

// told is what a server says about an error, in whichever of the shapes in use:
// {"error":{"code","type","status","message"}}, {"error":"text"}, the inner
// object alone, or any of them in an array.
type told struct {
	Code, Type, Status string
	Message            string // for people; nothing is decided by it
}

// parseTold reads an error body. One that isn't JSON tells nothing: an HTML page
// of a gateway is no message for a log.
func parseTold(body []byte) told {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &outer) == nil && len(outer.Error) > 0 && string(outer.Error) != "null" {
		body = outer.Error
	}
	var text string
	if json.Unmarshal(body, &text) == nil {
		return told{Message: text}
	}
	var inner struct {
		Code    json.RawMessage `json:"code"` // a string, or a number
		Type    string          `json:"type"`
		Status  string          `json:"status"`
		Message json.RawMessage `json:"message"`
	}
	if json.Unmarshal(body, &inner) != nil {
		return told{}
	}
	return told{Code: bare(inner.Code), Type: inner.Type, Status: inner.Status, Message: bare(inner.Message)}
}

// bare is a JSON value as text, without the quotes of a string.
func bare(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// class decides from the words of the body that have a fixed meaning, then from
// the HTTP status. status is 0 for an error inside a stream, whose code may
// itself be a status.
func (t told) class(status int) model.Class {
	if c, ok := t.exact(); ok {
		return c
	}
	if n, err := strconv.Atoi(t.Code); err == nil && status == 0 {
		status = n
	}
	if status != 0 {
		return classOfStatus(status)
	}
	for _, word := range []string{t.Code, t.Type, t.Status} {
		if c, ok := vague[word]; ok {
			return c
		}
	}
	return model.Unknown
}

// exact is the class when the body alone decides it.
func (t told) exact() (model.Class, bool) {
	for _, word := range []string{t.Code, t.Type, t.Status} {
		if c, ok := words[word]; ok {
			return c, true
		}
		if strings.HasPrefix(word, "billing_") {
			return model.QuotaExhausted, true
		}
	}
	return "", false
}

// words are more exact than any status that comes with them.
var words = map[string]model.Class{
	"context_length_exceeded":              model.ContextOverflow,
	"exceed_context_size_error":            model.ContextOverflow, // llama.cpp
	"insufficient_quota":                   model.QuotaExhausted,
	"content_filter":                       model.ContentFilter,
	"content_policy_violation":             model.ContentFilter,
	"unsupported_country_region_territory": model.BadRequest, // comes as a 403
	"model_not_found":                      model.BadRequest,
}

// vague words only count where there is no status.
var vague = map[string]model.Class{
	"overloaded_error":      model.StreamError,
	"api_error":             model.StreamError,
	"server_error":          model.StreamError,
	"internal_error":        model.StreamError,
	"internal_server_error": model.StreamError,
	"UNAVAILABLE":           model.StreamError,
	"rate_limit_error":      model.RateLimited,
	"rate_limit_exceeded":   model.RateLimited,
	"RESOURCE_EXHAUSTED":    model.RateLimited,
	"authentication_error":  model.Auth,
	"invalid_api_key":       model.Auth,
	"permission_error":      model.Auth,
	"invalid_request_error": model.BadRequest,
}

func classOfStatus(status int) model.Class {
	switch status {
	case 401, 403:
		return model.Auth
	case 402:
		return model.QuotaExhausted
	case 408, 425:
		return model.RequestTimeout
	case 429:
		return model.RateLimited
	case 500, 502, 503, 504, 529:
		return model.Server
	case 400, 404, 405, 409, 413, 415, 422, 501:
		return model.BadRequest
	}
	switch {
	case status >= 520 && status <= 526: // Cloudflare's for the server behind it
		return model.Server
	case status/100 == 3: // base_url is wrong: redirects are not followed
		return model.BadRequest
	}
	return model.Unknown
}
