package model_test

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/engine/model"
)

// plays answers one call after the other with errs, and then with a reply. It
// notes the position that each call came with.
func plays(answers *[]int, errs ...error) stub {
	p := stub{info: model.Info{ID: "stub"}}
	p.stream = func(_ context.Context, req model.Request, yield func(model.Event, error) bool) {
		n := len(*answers)
		*answers = append(*answers, req.Item.Answers)
		if n < len(errs) {
			yield(model.Event{}, errs[n])
			return
		}
		if yield(text("ok"), nil) {
			yield(done(model.StopEnd), nil)
		}
	}
	return p
}

func TestAskRetries(t *testing.T) {
	type span struct{ from, to time.Duration }
	exactly := func(d time.Duration) span { return span{d, d} }
	second := span{time.Second / 2, 3 * time.Second / 2}
	four := span{2 * time.Second, 6 * time.Second}
	tests := []struct {
		class model.Class
		waits []span
	}{
		{model.DNS, []span{second}},
		{model.Connect, []span{second}},
		{model.TLS, []span{second}},
		{model.ConnReset, []span{second}},
		{model.HeaderTimeout, nil},
		{model.Silent, nil},
		{model.StreamTruncated, []span{exactly(0)}},
		{model.StreamError, []span{second, four}},
		{model.RateLimited, []span{second, four}},
		{model.QuotaExhausted, nil},
		{model.Server, []span{second, four}},
		{model.RequestTimeout, []span{second}},
		{model.Auth, nil},
		{model.BadRequest, nil},
		{model.ContextOverflow, nil},
		{model.ContentFilter, nil},
		{model.MaxTokens, nil},
		{model.Unusable, []span{exactly(0)}},
		{model.Cancelled, nil},
		{model.ScriptMismatch, nil},
		{model.Unknown, nil},
	}
	for _, tt := range tests {
		t.Run(string(tt.class), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fail := &model.Error{Class: tt.class}
				var answers []int
				var told []time.Duration
				began := time.Now()
				_, err := model.Ask(t.Context(), plays(&answers, fail, fail, fail, fail, fail), model.Request{},
					func(e *model.Error, wait time.Duration) {
						if e != fail {
							t.Errorf("onRetry got %v, want the failure", e)
						}
						told = append(told, wait)
					})
				if !errors.Is(err, fail) {
					t.Fatalf("Ask error = %v, want %v", err, fail)
				}
				if len(told) != len(tt.waits) {
					t.Fatalf("waited %v, want %d waits", told, len(tt.waits))
				}
				var sum time.Duration
				for i, w := range tt.waits {
					if told[i] < w.from || told[i] > w.to {
						t.Errorf("wait %d = %s, want %s to %s", i, told[i], w.from, w.to)
					}
					sum += told[i]
				}
				if took := time.Since(began); took != sum {
					t.Errorf("took %s, but told of %s", took, sum)
				}
			})
		})
	}
}

func TestAskHonoursRetryAfter(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		retry bool
	}{
		{"at once", time.Nanosecond, true},
		{"a little", 3 * time.Second, true},
		{"just bearable", time.Minute, true},
		{"too long", time.Minute + time.Nanosecond, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var answers []int
				began := time.Now()
				limited := &model.Error{Class: model.RateLimited, Status: 429, RetryAfter: tt.after}
				reply, err := model.Ask(t.Context(), plays(&answers, limited), model.Request{}, nil)
				if !tt.retry {
					if !errors.Is(err, limited) || time.Since(began) != 0 {
						t.Errorf("Ask = %v after %s, want the error at once", err, time.Since(began))
					}
					return
				}
				if err != nil || reply.Text != "ok" || time.Since(began) != tt.after {
					t.Errorf("Ask = %q, %v after %s; want ok after exactly %s", reply.Text, err, time.Since(began), tt.after)
				}
			})
		})
	}
}

func TestAskCountsEachClassAndEachAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers []int
		p := plays(
			&answers,
			&model.Error{Class: model.RateLimited},
			&model.Error{Class: model.StreamTruncated},
			&model.Error{Class: model.Server},
			&model.Error{Class: model.Unusable},
		)
		retries := 0
		_, err := model.Ask(t.Context(), p, model.Request{Item: model.Item{Answers: 3}}, func(*model.Error, time.Duration) { retries++ })
		if err != nil || retries != 4 {
			t.Fatalf("Ask = %v after %d retries, want a reply after 4", err, retries)
		}
		if diff := cmp.Diff([]int{3, 4, 5, 6, 7}, answers); diff != "" {
			t.Errorf("positions (-want +got):\n%s", diff)
		}
	})
}

func TestAskIsBoundedWhenClassesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers []int
		var errs []error
		for _, c := range []model.Class{model.DNS, model.Connect, model.TLS, model.ConnReset, model.Server, model.StreamError} {
			errs = append(errs, &model.Error{Class: c})
		}
		_, err := model.Ask(t.Context(), plays(&answers, errs...), model.Request{}, nil)
		if classOf(err) != model.Server || len(answers) != 5 {
			t.Errorf("Ask = %v after %d calls, want the fifth failure", err, len(answers))
		}
	})
}

func TestAskNeverRetriesWhatWaitingCannotHeal(t *testing.T) {
	for _, fail := range []error{
		&model.Error{Class: model.TLS, Err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}},
		&model.BudgetError{Reason: "budget_day"},
		errors.New("disk full"),
	} {
		var answers []int
		if _, err := model.Ask(t.Context(), plays(&answers, fail), model.Request{}, nil); !errors.Is(err, fail) || len(answers) != 1 {
			t.Errorf("Ask = %v after %d calls, want %v after 1", err, len(answers), fail)
		}
	}
}

func TestAskGivesUpWaitingWhenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { cancel(why) })
		var answers []int
		began := time.Now()
		limited := &model.Error{Class: model.RateLimited, RetryAfter: 50 * time.Second}
		_, err := model.Ask(ctx, plays(&answers, limited), model.Request{}, nil)
		if classOf(err) != model.Cancelled || !errors.Is(err, why) || time.Since(began) != 10*time.Second {
			t.Errorf("Ask = %v after %s, want cancelled(%v) after 10s", err, time.Since(began), why)
		}
	})
}

func TestErrorText(t *testing.T) {
	cause := errors.New("connection refused")
	tests := []struct {
		err  *model.Error
		want string
	}{
		{&model.Error{Class: model.Connect, Provider: "openai:m", Err: cause}, "openai:m: connect: connection refused"},
		{
			&model.Error{Class: model.RateLimited, Status: 429, RetryAfter: 3 * time.Second, Message: "slow down"},
			"rate_limited (status 429), retry after 3s: slow down",
		},
		{&model.Error{Class: model.RateLimited, Status: 429, RetryAfter: 1}, "rate_limited (status 429)"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
}
