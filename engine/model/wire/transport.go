package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hob/engine/model"
	"hob/journal/redact"
)

// How long a provider may be silent in each phase. They are generous: a long
// prompt on a slow machine is minutes without a byte, and nobody is waiting.
const (
	dialLimit   = 10 * time.Second // and as long again for TLS
	headerLimit = 2 * time.Minute
	firstLimit  = 3 * time.Minute  // until the first byte of the body
	byteLimit   = 90 * time.Second // between bytes; keep-alive comments count
	usefulLimit = 10 * time.Minute // between events; a proxy can keep a dead stream alive for ever
)

// maxErrorBody bounds what is read of a body that is no stream.
const maxErrorBody = 64 << 10

// ErrSilent is the cause of an error of class model.Silent: the server accepted
// the request and then sent nothing, or nothing but keep-alives, for too long.
var ErrSilent = errors.New("silent for too long")

// errNoHeaders is the cause of an error of class model.HeaderTimeout.
var errNoHeaders = fmt.Errorf("no response within %s", headerLimit)

// newTransport is net/http's, with the limits that it can enforce itself.
func newTransport() http.RoundTripper {
	d := net.Dialer{
		Timeout: dialLimit,
		// A suspended machine's clock stops, so the watchdog can't see the gap; probes can.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 30 * time.Second, Count: 3},
	}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         d.DialContext,
		TLSHandshakeTimeout: dialLimit,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		IdleConnTimeout:     90 * time.Second,
	}
}

// An endpoint is where requests go and what goes along with them.
type endpoint struct {
	base   *url.URL
	header http.Header
	rt     http.RoundTripper
	id     string // model.Info.ID
	mask   *redact.Set
}

// post sends body to path and returns the response once its headers are in. The
// response's status is 2xx; all else is an error. Closing its body ends the
// request and its timers.
//
// The round tripper is called directly: there is no http.Client whose Timeout
// could cut a stream or that would follow a redirect.
func (e endpoint) post(ctx context.Context, path string, body []byte) (*stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		cancel(nil)
		return nil, e.fail(model.BadRequest, err)
	}
	req.Header = e.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "hob")

	headers := time.AfterFunc(headerLimit, func() { cancel(errNoHeaders) })
	resp, err := e.rt.RoundTrip(req)
	headers.Stop()
	if err != nil {
		err = e.fail(classOf(ctx, err, model.Unknown), because(ctx, err))
		cancel(nil)
		return nil, err
	}
	s := newStream(ctx, cancel, resp)
	if resp.StatusCode/100 != 2 {
		defer s.Close()
		return nil, e.refused(resp, s)
	}
	return s, nil
}

// refused makes the error of a response that is no success.
func (e endpoint) refused(resp *http.Response, s *stream) error {
	body, err := io.ReadAll(io.LimitReader(s, maxErrorBody))
	if err != nil && len(body) == 0 {
		err = because(s.ctx, err)
	} else {
		err = nil
	}
	told := parseTold(body)
	return &model.Error{
		Class:      told.class(resp.StatusCode),
		Status:     resp.StatusCode,
		RetryAfter: retryAfter(resp.Header, time.Now()),
		Provider:   e.id,
		Message:    e.clean(told.Message),
		Err:        err,
	}
}

func (e endpoint) fail(c model.Class, cause error) *model.Error {
	return &model.Error{Class: c, Provider: e.id, Err: cause}
}

// clean makes one bounded line without secrets of what a server said.
func (e endpoint) clean(text string) string {
	const most = 400
	text = strings.Join(strings.Fields(strings.Map(printable, e.mask.String(text))), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// printable turns what could move a cursor or reverse a line into a space.
func printable(r rune) rune {
	if !strconv.IsPrint(r) {
		return ' '
	}
	return r
}

// A stream is a response body under watch.
type stream struct {
	ctx    context.Context // the request's; its cause says why reading failed
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	idle   *time.Timer // runs while Read waits
	useful *time.Timer // runs while next waits
	began  bool        // the first byte is here
}

func newStream(ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response) *stream {
	s := &stream{ctx: ctx, cancel: cancel, body: resp.Body}
	silent := func() {
		cancel(ErrSilent)
		_ = resp.Body.Close() // wakes a Read that doesn't watch the context
	}
	s.idle = time.AfterFunc(time.Hour, silent)
	s.useful = time.AfterFunc(time.Hour, silent)
	s.idle.Stop()
	s.useful.Stop()
	return s
}

// Read reads from the body. Only waiting is timed, never the reader's own work.
func (s *stream) Read(p []byte) (int, error) {
	limit := byteLimit
	if !s.began {
		limit = firstLimit
	}
	s.idle.Reset(limit)
	n, err := s.body.Read(p)
	s.idle.Stop()
	s.began = s.began || n > 0
	return n, err
}

// Close ends the request. It may be called twice.
func (s *stream) Close() {
	s.idle.Stop()
	s.useful.Stop()
	s.cancel(nil)
	_ = s.body.Close() // only reading: nothing is lost
}

// broken is the error for a read that failed with err.
func (e endpoint) broken(s *stream, err error) *model.Error {
	class := model.StreamTruncated
	if !s.began {
		class = model.ConnReset
	}
	return e.fail(classOf(s.ctx, err, class), because(s.ctx, err))
}

// because is the reason why ctx was cancelled, if that is why err happened.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// classOf tells from Go's error types what happened to a request. other is the
// class of whatever isn't known.
func classOf(ctx context.Context, err error, other model.Class) model.Class {
	if cause := context.Cause(ctx); cause != nil {
		switch {
		case errors.Is(cause, errNoHeaders):
			return model.HeaderTimeout
		case errors.Is(cause, ErrSilent):
			return model.Silent
		}
		return model.Cancelled
	}
	if other == model.StreamTruncated {
		return other // bytes came: how the rest was lost doesn't matter
	}
	if as[*net.DNSError](err) {
		return model.DNS
	}
	if as[*tls.CertificateVerificationError](err) || as[x509.UnknownAuthorityError](err) ||
		as[tls.RecordHeaderError](err) || as[tls.AlertError](err) {
		return model.TLS
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return model.Connect
	}
	for _, reset := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, reset) {
			return model.ConnReset
		}
	}
	return other
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// retryAfter reads how long a server asks us to wait (RFC 9110 §10.2.3: seconds
// or a date), preferring the milliseconds that OpenAI adds. 0 means that it
// doesn't say; "at once" is a nanosecond.
func retryAfter(h http.Header, now time.Time) time.Duration {
	wait := time.Duration(-1)
	if ms, err := strconv.ParseUint(h.Get("Retry-After-Ms"), 10, 31); err == nil {
		wait = time.Duration(ms) * time.Millisecond
	} else if s, err := strconv.ParseUint(strings.TrimSpace(h.Get("Retry-After")), 10, 31); err == nil {
		wait = time.Duration(s) * time.Second
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		wait = max(at.Sub(now), 0)
	}
	if wait < 0 {
		return 0
	}
	return max(wait, time.Nanosecond)
}
