package model

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Class says what kind of failure a turn met. The set is closed.
type Class string

// The classes of failure.
const (
	DNS             Class = "dns"               // the host's name didn't resolve
	Connect         Class = "connect"           // no connection
	TLS             Class = "tls"               // no handshake; a refused certificate is never retried
	ConnReset       Class = "conn_reset"        // the connection died before the first byte
	HeaderTimeout   Class = "header_timeout"    // no response headers in time
	Silent          Class = "silent"            // headers, then nothing for too long
	StreamTruncated Class = "stream_truncated"  // the stream ended before its end
	StreamError     Class = "stream_error"      // an error of the server's own inside a stream
	RateLimited     Class = "rate_limited"      // 429; RetryAfter says when, if the server said
	QuotaExhausted  Class = "quota_exhausted"   // 402, or a 429 that no waiting heals
	Server          Class = "server"            // 5xx
	RequestTimeout  Class = "request_timeout"   // 408, 425
	Auth            Class = "auth"              // 401, 403
	BadRequest      Class = "bad_request"       // 400, 404, 422 …: the request will never work
	ContextOverflow Class = "context_overflow"  // the prompt is longer than the window
	ContentFilter   Class = "content_filter"    // refused
	MaxTokens       Class = "max_tokens"        // the output limit left nothing usable
	Unusable        Class = "unusable_response" // an answer, but none that can be worked with
	Cancelled       Class = "cancelled"         // our own context ended
	ScriptMismatch  Class = "script_mismatch"   // the scripted model was asked something it didn't expect
	Unknown         Class = "unknown"           // none of the above
)

// A rule is what [Ask] and [Metered] do about a class.
type rule struct {
	// waits has one entry for each retry against the same provider.
	waits []time.Duration
	// free means that the provider provably did no billable work.
	free bool
}

// rules has a line for every class. Waiting longer never helps an item as much
// as giving way to the next one, so the counts are small.
var rules = map[Class]rule{
	DNS:             {waits: []time.Duration{time.Second}, free: true},
	Connect:         {waits: []time.Duration{time.Second}, free: true},
	TLS:             {waits: []time.Duration{time.Second}, free: true},
	ConnReset:       {waits: []time.Duration{time.Second}},
	HeaderTimeout:   {},
	Silent:          {},
	StreamTruncated: {waits: []time.Duration{0}},
	StreamError:     {waits: []time.Duration{time.Second, 4 * time.Second}},
	RateLimited:     {waits: []time.Duration{time.Second, 4 * time.Second}, free: true},
	QuotaExhausted:  {free: true},
	Server:          {waits: []time.Duration{time.Second, 4 * time.Second}, free: true},
	RequestTimeout:  {waits: []time.Duration{time.Second}, free: true},
	Auth:            {free: true},
	BadRequest:      {free: true},
	ContextOverflow: {free: true},
	ContentFilter:   {},
	MaxTokens:       {},
	Unusable:        {waits: []time.Duration{0}},
	Cancelled:       {},
	ScriptMismatch:  {free: true},
	Unknown:         {},
}

// An Error is a turn that didn't happen. Its text may be logged: keys are masked
// and it holds no request.
type Error struct {
	Class  Class
	Status int // HTTP status; 0 without one
	// RetryAfter is how long the server asked us to stay away; 0 if it didn't say.
	// "At once" is kept as one nanosecond.
	RetryAfter time.Duration
	Provider   string // Info.ID
	Message    string // the server's own words, one bounded line; for people only
	Err        error  // the cause, where there is one
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	b.WriteString(string(e.Class))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	if e.RetryAfter > time.Nanosecond {
		fmt.Fprintf(&b, ", retry after %s", e.RetryAfter)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// retry tells how long to wait before the same provider is asked again, after
// this class was already retried times times; ok is false when it shouldn't be.
// A server's own wish is honoured in full or not at all.
func (e *Error) retry(times int) (wait time.Duration, ok bool) {
	waits := rules[e.Class].waits
	if times >= len(waits) {
		return 0, false
	}
	if cert := (*tls.CertificateVerificationError)(nil); errors.As(e.Err, &cert) {
		return 0, false
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= maxRetryAfter
	}
	return jitter(waits[times]), true
}
