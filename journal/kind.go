package journal

import "strconv"

// pair names the act that an event begins or ends; key is "" for a fact that
// stands alone.
func pair(e Event) (key string, begins bool) {
	switch e := e.(type) {
	case LLMRequest:
		return "llm", true
	case LLMResponse, LLMError:
		return "llm", false
	case ToolCall:
		return "tool " + e.CallID, true
	case ToolResult:
		return "tool " + e.CallID, false
	case ValidatorStarted:
		return "validator " + e.Phase + " " + e.Name, true
	case ValidatorFinished:
		return "validator " + e.Phase + " " + e.Name, false
	case RepairStarted:
		return "repair", true
	case RepairFinished:
		return "repair", false
	case CommitIntended:
		return "commit", true
	case CommitCreated:
		return "commit", false
	case PushIntended:
		return "push " + e.Target, true
	case PushResult:
		return "push " + e.Target, false
	}
	return "", false
}

// spans gives an act the number of the event that began it. The run itself is
// span 0, begun by its first event.
type spans map[string]string

// of returns the span of an event that gets number seq.
func (s spans) of(e Event, seq int) string {
	key, begins := pair(e)
	if key == "" {
		return "0"
	}
	if begins {
		s[key] = strconv.FormatInt(int64(seq), 16)
		return s[key]
	}
	span, ok := s[key]
	if !ok {
		return "0"
	}
	delete(s, key)
	return span
}

// Kind implements [Event].
func (RunStarted) Kind() string { return "run.started" }

// Kind implements [Event].
func (SnapshotTaken) Kind() string { return "snapshot.taken" }

// Kind implements [Event].
func (LLMRequest) Kind() string { return "llm.request" }

// Kind implements [Event].
func (LLMResponse) Kind() string { return "llm.response" }

// Kind implements [Event].
func (LLMError) Kind() string { return "llm.error" }

// Kind implements [Event].
func (ToolCall) Kind() string { return "tool.call" }

// Kind implements [Event].
func (ToolResult) Kind() string { return "tool.result" }

// Kind implements [Event].
func (EditOutcome) Kind() string { return "edit.outcome" }

// Kind implements [Event].
func (ValidatorStarted) Kind() string { return "validator.started" }

// Kind implements [Event].
func (ValidatorFinished) Kind() string { return "validator.finished" }

// Kind implements [Event].
func (RepairStarted) Kind() string { return "repair.started" }

// Kind implements [Event].
func (RepairFinished) Kind() string { return "repair.finished" }

// Kind implements [Event].
func (BudgetAlert) Kind() string { return "budget.alert" }

// Kind implements [Event].
func (CommitIntended) Kind() string { return "commit.intended" }

// Kind implements [Event].
func (CommitCreated) Kind() string { return "commit.created" }

// Kind implements [Event].
func (PushIntended) Kind() string { return "push.intended" }

// Kind implements [Event].
func (PushResult) Kind() string { return "push.result" }

// Kind implements [Event].
func (SecretMasked) Kind() string { return "secret.masked" }

// Kind implements [Event].
func (Gap) Kind() string { return "journal.gap" }

// Kind implements [Event].
func (TailRecovered) Kind() string { return "tail.recovered" }

// Kind implements [Event].
func (RunFinished) Kind() string { return "run.finished" }

// Kind implements [Event].
func (TaskQueued) Kind() string { return "task.queued" }

// Kind implements [Event].
func (TaskClaimed) Kind() string { return "task.claimed" }

// Kind implements [Event].
func (TaskPaused) Kind() string { return "task.paused" }

// Kind implements [Event].
func (TaskResumed) Kind() string { return "task.resumed" }

// Kind implements [Event].
func (TaskRenamed) Kind() string { return "task.renamed" }

// Kind implements [Event].
func (TaskWithdrawn) Kind() string { return "task.withdrawn" }

// Kind implements [Event].
func (TaskFinished) Kind() string { return "task.finished" }

// Kind implements [Event].
func (ScheduleWoken) Kind() string { return "schedule.woken" }

// Kind implements [Event].
func (IllegalTransition) Kind() string { return "illegal.transition" }

// Kind implements [Event].
func (ConfigReloaded) Kind() string { return "config.reloaded" }
