package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// signals turns what the user sends into contexts: for most commands the first one
// ends all; a service takes over with [signals.serve].
type signals struct {
	mu sync.Mutex

	first  func()         // what the first signal does
	grace  time.Duration  // after which the second context ends all the same
	second func()         // what the second signal does
	exit   func(code int) // for a command that doesn't listen, such as one that reads a terminal
	say    func(text string)
	count  int
	last   int // number of the signal that ended it at once
}

// listen starts to listen. stop ends it.
func (w *world) listen() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	say := func(text string) { fmt.Fprintf(w.Err, "hob: %s\n", text) }
	w.signal = &signals{first: cancel, second: cancel, exit: w.Exit, say: say}
	done, waited := make(chan struct{}), make(chan struct{})
	go func() { // stop waits for it
		defer close(waited)
		w.signal.loop(w.Signals, done)
	}()
	return ctx, func() {
		close(done)
		<-waited
		cancel()
	}
}

func (s *signals) loop(in <-chan os.Signal, done <-chan struct{}) {
	var over <-chan time.Time
	for {
		select {
		case <-done:
			return
		case sig := <-in:
			if grace := s.took(sig); grace > 0 {
				over = time.After(grace)
			}
		case <-over:
			s.end()
		}
	}
}

// took does what a signal asks for. It returns how long the work may go on after the
// first one of a service.
func (s *signals) took(sig os.Signal) (grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if s.count == 1 && s.grace > 0 {
		s.say(fmt.Sprintf("stopping after the current turn, within %s; once more ends at once", s.grace))
		s.first()
		return s.grace
	}
	if n, ok := sig.(syscall.Signal); ok {
		s.last = int(n)
	}
	s.first()
	s.second()
	if s.count > 2 || s.count > 1 && s.grace == 0 {
		s.exit(128 + s.last)
	}
	return 0
}

func (s *signals) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.second()
}

// impatient is the number of the signal that ended hob at once; 0 if none did.
func (s *signals) impatient() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// serve makes the two contexts of a service below ctx: the first signal ends claim,
// and work after the grace; a second one ends work at once. A signal that came before
// counts as the first.
func (s *signals) serve(ctx context.Context, grace time.Duration) (claim, work context.Context, stop func()) {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	claim, stopClaim := context.WithCancel(work)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first, s.second, s.grace = stopClaim, stopWork, max(grace, 1)
	if s.count > 0 {
		stopWork()
	}
	return claim, work, stopWork
}
