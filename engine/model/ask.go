package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// maxRetryAfter is the longest wait for a server that an item's slot is worth;
// beyond it the item is put off and the slot works on something else.
const maxRetryAfter = time.Minute

// maxRetries bounds one Ask whose failures change class all the time.
const maxRetries = 4

// Ask is [Collect] with retries against the same provider. Each class has its
// own count and waits; a Retry-After of up to a minute is waited for in full, a
// longer one is returned at once, inside the *Error, for the caller to put the
// item off. onRetry, which may be nil, is called before each wait.
//
// Every failed try counts as an answer: after Ask returns, the caller's next
// Item.Answers is one more than this one, plus one for each call of onRetry.
//
// An error that is no *Error (a *BudgetError, a disk) is returned as it is. When
// ctx ends, also during a wait, the class is Cancelled.
func Ask(ctx context.Context, p Provider, req Request, onRetry func(e *Error, wait time.Duration)) (Reply, error) {
	times := map[Class]int{}
	for try := 0; ; try++ {
		reply, err := Collect(ctx, p, req)
		if err == nil {
			return reply, nil
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || try == maxRetries {
			return Reply{}, err
		}
		wait, ok := e.retry(times[e.Class])
		if !ok {
			return Reply{}, err
		}
		times[e.Class]++
		if onRetry != nil {
			onRetry(e, wait)
		}
		if err := pause(ctx, wait); err != nil {
			return Reply{}, &Error{Class: Cancelled, Provider: p.Info().ID, Err: err}
		}
		req.Item.Answers++
	}
}

func pause(ctx context.Context, wait time.Duration) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return context.Cause(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// jitter spreads a wait over ± 50 %, so that daemons that were thrown out
// together don't come back together.
func jitter(wait time.Duration) time.Duration {
	if wait <= 0 {
		return 0
	}
	return wait/2 + rand.N(wait+1)
}
