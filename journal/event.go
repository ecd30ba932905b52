package journal

import (
	"encoding/json"
	"errors"
	"fmt"
)

// An Event is one fact of a run: one of the structs in this file, as a value.
//
// Their fields follow rules that keep a line safe to show to anybody. Numbers
// are integers: money in millionths of a dollar, time in milliseconds (or
// microseconds where the name says so). Text of people, models, programs and
// files goes through [Run.Keep] and is a [Ref] here. Paths are relative to the
// repository and have slashes. Digests are lower-case hexadecimal SHA-256,
// object ids are git's. Strings are masked and cut by [Run.Record].
//
// A kind whose name ends in intended, started, call or request is written
// before the act it names; the event that ends the act has the same span. One
// without the other after a crash says "may or may not have happened".
type Event interface {
	// Kind is the name of the fact: noun.verb. It never changes.
	Kind() string
}

// ErrUnknownKind says that an entry is of a kind this version doesn't know;
// its body is still there as JSON.
var ErrUnknownKind = errors.New("unknown kind of event")

// Decode returns the event of an entry, as a value of the struct that was
// recorded. Fields that a newer version added are ignored.
func Decode(e Entry) (Event, error) {
	decode, ok := kinds[e.Kind]
	if !ok {
		return nil, fmt.Errorf("decode event %d: %w: %s", e.Seq, ErrUnknownKind, e.Kind)
	}
	event, err := decode(e.Body)
	if err != nil {
		return nil, fmt.Errorf("decode event %d: %s: %w", e.Seq, e.Kind, err)
	}
	return event, nil
}

// kinds is the whole vocabulary. A new kind is a struct below and a line here.
var kinds = map[string]func(json.RawMessage) (Event, error){
	"run.started":        decode[RunStarted],
	"snapshot.taken":     decode[SnapshotTaken],
	"llm.request":        decode[LLMRequest],
	"llm.response":       decode[LLMResponse],
	"llm.error":          decode[LLMError],
	"tool.call":          decode[ToolCall],
	"tool.result":        decode[ToolResult],
	"edit.outcome":       decode[EditOutcome],
	"validator.started":  decode[ValidatorStarted],
	"validator.finished": decode[ValidatorFinished],
	"repair.started":     decode[RepairStarted],
	"repair.finished":    decode[RepairFinished],
	"budget.alert":       decode[BudgetAlert],
	"commit.intended":    decode[CommitIntended],
	"commit.created":     decode[CommitCreated],
	"push.intended":      decode[PushIntended],
	"push.result":        decode[PushResult],
	"secret.masked":      decode[SecretMasked],
	"journal.gap":        decode[Gap],
	"tail.recovered":     decode[TailRecovered],
	"run.finished":       decode[RunFinished],
	"task.queued":        decode[TaskQueued],
	"task.claimed":       decode[TaskClaimed],
	"task.paused":        decode[TaskPaused],
	"task.resumed":       decode[TaskResumed],
	"task.renamed":       decode[TaskRenamed],
	"task.withdrawn":     decode[TaskWithdrawn],
	"task.finished":      decode[TaskFinished],
	"schedule.woken":     decode[ScheduleWoken],
	"illegal.transition": decode[IllegalTransition],
	"config.reloaded":    decode[ConfigReloaded],
}

func decode[T Event](body json.RawMessage) (Event, error) {
	var e T
	err := json.Unmarshal(body, &e)
	return e, err
}

// RunStarted is the first event of a run.
type RunStarted struct {
	Hob          string `json:"hob"`                     // version
	Binary       string `json:"binary_digest,omitempty"` // of the program file
	ConfigDigest string `json:"config_digest"`
	Task         string `json:"task,omitempty"`
	Item         Ref    `json:"item,omitzero"` // the item's text and body
	Attempt      int    `json:"attempt,omitempty"`
	Trigger      string `json:"trigger"` // cause of the wake-up
	Host         string `json:"host"`
	PID          int    `json:"pid,omitempty"`
	Parent       string `json:"parent,omitempty"` // run that this one goes on from
}

// SnapshotTaken says what the work started from.
type SnapshotTaken struct {
	Head        string `json:"head"` // of the user's repository
	Branch      string `json:"branch"`
	Base        string `json:"base"`                   // commit the slot was made from
	Tree        string `json:"tree"`                   // of Base
	OnAgent     bool   `json:"on_agent"`               // Base is the tip of the agent branch
	Behind      int    `json:"behind,omitempty"`       // commits of the base branch not in Base
	Dirty       bool   `json:"dirty"`                  // the user's work tree differs from Head
	DirtyDigest string `json:"dirty_digest,omitempty"` // of those differences
	Submodules  int    `json:"submodules,omitempty"`
	Method      string `json:"method"` // how the slot was made
	MS          int64  `json:"ms"`
}

// LLMRequest is written before the prompt leaves the machine. Names with dots
// are those of the OpenTelemetry GenAI conventions. The prompt's digest is of
// the canonical request, so that a replay can tell whether it is asked the
// same again.
type LLMRequest struct {
	Operation        string `json:"gen_ai.operation.name"`
	Provider         string `json:"gen_ai.provider.name"`
	Model            string `json:"gen_ai.request.model"`
	MaxTokens        int    `json:"gen_ai.request.max_tokens,omitempty"`
	Host             string `json:"host,omitempty"`
	Purpose          string `json:"purpose"` // work, nudge, repair, handover
	Turn             int    `json:"turn"`    // from 1, over the whole attempt
	Attempt          int    `json:"attempt"` // from 1, over the retries of this turn
	Prompt           Ref    `json:"prompt,omitzero"`
	PromptDigest     string `json:"prompt_digest"`
	PrefixDigest     string `json:"prefix_digest,omitempty"` // of the part a provider may cache
	ToolsDigest      string `json:"tools_digest,omitempty"`
	Messages         int    `json:"messages"`
	EstimateMicroUSD int64  `json:"estimate_microusd"` // reserved for this call
}

// LLMResponse is a complete reply. Body is its canonical JSON, from which it
// can be replayed. InputTokens and OutputTokens are the sums of the parts.
type LLMResponse struct {
	Model           string `json:"gen_ai.response.model"`
	ResponseID      string `json:"gen_ai.response.id,omitempty"`
	InputTokens     int64  `json:"gen_ai.usage.input_tokens"`
	OutputTokens    int64  `json:"gen_ai.usage.output_tokens"`
	Finish          string `json:"finish"`
	Turn            int    `json:"turn"`
	InputUncached   int64  `json:"input_uncached"`
	CacheRead       int64  `json:"cache_read"`
	CacheWrite      int64  `json:"cache_write"`
	OutputVisible   int64  `json:"output_visible"`
	OutputReasoning int64  `json:"output_reasoning"`
	Estimated       bool   `json:"estimated"` // the provider told no usage
	CostMicroUSD    int64  `json:"cost_microusd"`
	LatencyMS       int64  `json:"latency_ms"` // request to end of stream
	FirstMS         int64  `json:"first_ms,omitempty"`
	Calls           int    `json:"calls"` // tool calls in it
	Body            Ref    `json:"body,omitzero"`
	Reasoning       Ref    `json:"reasoning,omitzero"`      // see Run.KeepReasoning
	ReplayedFrom    string `json:"replayed_from,omitempty"` // run whose reply this is; nothing was sent
}

// LLMError is a call that brought no reply.
type LLMError struct {
	Class        string `json:"class"`
	HTTP         int    `json:"http,omitempty"` // status
	Provider     string `json:"provider"`
	Turn         int    `json:"turn"`
	Attempt      int    `json:"attempt"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
	FallbackTo   string `json:"fallback_to,omitempty"` // model asked next
	CostMicroUSD int64  `json:"cost_microusd"`         // what the failed call counts as
	MS           int64  `json:"ms"`
	Message      Ref    `json:"message,omitzero"`
}

// ToolCall is written before the tool runs. Decision is allow, refuse or park.
type ToolCall struct {
	CallID   string `json:"call_id"`
	Name     string `json:"name"`
	Turn     int    `json:"turn"`
	Args     Ref    `json:"args,omitzero"`
	Decision string `json:"decision"`
	Why      string `json:"why,omitempty"`
}

// ToolResult is what the tool gave back. Bytes counts all output, Out is the
// part the model saw.
type ToolResult struct {
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Exit      int    `json:"exit"`
	Signal    string `json:"signal,omitempty"`
	End       string `json:"end,omitempty"`   // exit, timeout, idle, canceled
	Error     string `json:"error,omitempty"` // the tool could not run
	MS        int64  `json:"ms"`
	Bytes     int64  `json:"bytes"`
	Out       Ref    `json:"out,omitzero"`
	Truncated bool   `json:"truncated"`
}

// EditOutcome is one edit of a reply, applied or refused. A reply that tried
// and could not be read is one event without a path.
type EditOutcome struct {
	Turn         int    `json:"turn"`
	N            int    `json:"n"`  // from 1, over the edits of the reply
	Op           string `json:"op"` // what it does: replace, create, delete …
	Format       string `json:"format"`
	Tier         string `json:"tier,omitempty"`
	Applied      bool   `json:"applied"`
	Failure      string `json:"failure,omitempty"` // code of the refusal
	Path         string `json:"path,omitempty"`
	Before       string `json:"before,omitempty"` // blob ids
	After        string `json:"after,omitempty"`
	LinesAdded   int    `json:"lines_added"`
	LinesRemoved int    `json:"lines_removed"`
	PromotedTo   string `json:"promoted_to,omitempty"` // format asked for next
	Feedback     Ref    `json:"feedback,omitzero"`
}

// ValidatorStarted is written before a validator runs. Env has names only.
type ValidatorStarted struct {
	Name          string   `json:"name"`
	Phase         string   `json:"phase"` // base, work, verdict
	Argv          []string `json:"argv"`
	Cwd           string   `json:"cwd"`
	Env           []string `json:"env"`
	Sandbox       string   `json:"sandbox"`
	SandboxDigest string   `json:"sandbox_digest,omitempty"`
	Tree          string   `json:"tree"` // tree id tested
	Required      bool     `json:"required"`
}

// ValidatorFinished is its result. Digest is of the whole output, Out is the
// part kept. Tool "" means that its tests can't be counted.
type ValidatorFinished struct {
	Name     string `json:"name"`
	Phase    string `json:"phase"`
	Tree     string `json:"tree"`
	Verdict  string `json:"verdict"` // pass, fail, broken, skipped
	Reason   string `json:"reason,omitempty"`
	Exit     int    `json:"exit"`
	Signal   string `json:"signal,omitempty"`
	TimedOut bool   `json:"timed_out"`
	MS       int64  `json:"ms"`
	CPUMS    int64  `json:"cpu_ms"`
	MaxRSS   int64  `json:"max_rss"` // bytes
	Bytes    int64  `json:"bytes"`   // of output, kept or not
	Digest   string `json:"digest"`
	Out      Ref    `json:"out,omitzero"`
	Tool     string `json:"tool"`
	Ran      int    `json:"ran"`
	Failed   int    `json:"failed"`
	Skipped  int    `json:"skipped"`
}

// RepairStarted is written before the model is shown what failed.
type RepairStarted struct {
	N         int    `json:"n"` // from 1
	Max       int    `json:"max"`
	Cause     int    `json:"cause"` // seq of the event that made it necessary
	Signature string `json:"signature,omitempty"`
	Feedback  Ref    `json:"feedback,omitzero"`
}

// RepairFinished says how it came out: passed, failed, same, or a reason.
type RepairFinished struct {
	N         int    `json:"n"`
	Outcome   string `json:"outcome"`
	Signature string `json:"signature,omitempty"`
	MS        int64  `json:"ms"`
}

// BudgetAlert is a limit that is near or reached. Action is warn, pause, stop
// or downgrade.
type BudgetAlert struct {
	Action         string `json:"action"`
	Reason         string `json:"reason"`
	RunMicroUSD    int64  `json:"run_microusd"`
	ItemMicroUSD   int64  `json:"item_microusd"`
	DayMicroUSD    int64  `json:"day_microusd"`
	LimitMicroUSD  int64  `json:"limit_microusd"`
	DowngradeModel string `json:"downgrade_model,omitempty"`
}

// CommitIntended is written before any object of the commit.
type CommitIntended struct {
	Branch   string   `json:"branch"`
	Tree     string   `json:"tree"` // the validated tree, box ticked
	Parent   string   `json:"parent"`
	Message  Ref      `json:"message,omitzero"`
	Trailers []string `json:"trailers"`
}

// CommitCreated is written once the branch of the store holds the commit.
type CommitCreated struct {
	Branch  string `json:"branch"`
	Commit  string `json:"commit"`
	Tree    string `json:"tree"`
	Parent  string `json:"parent"`
	PatchID string `json:"patch_id,omitempty"`
}

// PushIntended is written before git runs. Remote has no user and password.
type PushIntended struct {
	Target  string `json:"target"` // name of the remote, or the user's repository
	Remote  string `json:"remote"`
	Refspec string `json:"refspec"`
	Old     string `json:"old,omitempty"`
	New     string `json:"new"`
	Lease   string `json:"lease,omitempty"`
}

// PushResult is what the target said.
type PushResult struct {
	Target  string `json:"target"`
	Remote  string `json:"remote"`
	Refspec string `json:"refspec"`
	Old     string `json:"old,omitempty"`
	New     string `json:"new"`
	State   string `json:"state"`
	RC      int    `json:"rc"` // exit code of git
	MS      int64  `json:"ms"`
	Message Ref    `json:"message,omitzero"`
}

// SecretMasked says that something held a secret, never which.
type SecretMasked struct {
	Rule  string `json:"rule"`
	Count int    `json:"count"`
	Where string `json:"where"` // prompt, reply, tool, validator …
}

// Gap is a hole in the record. The reason writer_conflict means that
// somebody else wrote into the run: from AtSeq on nothing can be trusted.
type Gap struct {
	Reason string `json:"reason"`
	AtSeq  int    `json:"at_seq"`
	Lost   int    `json:"lost"` // events, as far as known
}

// TailRecovered says that a crash left half a line, which was cut off. It had
// never been acknowledged.
type TailRecovered struct {
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

// RunFinished is the last event of a run. No line follows that would fix it,
// so it fixes itself: Check is filled in by [Run.Record].
type RunFinished struct {
	Check        string `json:"check"`   // hash of the line with check and prev empty
	Outcome      string `json:"outcome"` // state of the item, or stopped
	Reason       string `json:"reason,omitempty"`
	Message      Ref    `json:"message,omitzero"`
	Events       int    `json:"events"`
	Turns        int    `json:"turns"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	CostMicroUSD int64  `json:"cost_microusd"`
	Commit       string `json:"commit,omitempty"`
	MS           int64  `json:"ms"`
}

// TaskQueued is an item that became ready, for the first time or again.
type TaskQueued struct {
	Task        string `json:"task"`
	Item        Ref    `json:"item,omitzero"`
	From        string `json:"from,omitempty"` // state it left; "" is new
	Reason      string `json:"reason,omitempty"`
	Generation  int    `json:"generation"`
	Priority    int    `json:"priority"`
	ContentHash string `json:"content_hash"`
}

// TaskClaimed is an item taken up; its run follows.
type TaskClaimed struct {
	Task    string `json:"task"`
	WorkKey string `json:"work_key"`
	Attempt int    `json:"attempt"`
	Run     string `json:"run,omitempty"`
}

// TaskPaused is an item that waits for a person or a fact. State is paused,
// blocked, throttled or waiting.
type TaskPaused struct {
	Task    string `json:"task"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Message Ref    `json:"message,omitzero"`
	Run     string `json:"run,omitempty"`
}

// TaskResumed is an item that a person or a fact let go on.
type TaskResumed struct {
	Task   string `json:"task"`
	From   string `json:"from"`
	Reason string `json:"reason,omitempty"`
}

// TaskRenamed is an item whose text, and so its id, changed.
type TaskRenamed struct {
	Task string `json:"task"` // new id
	Old  string `json:"old"`
	Item Ref    `json:"item,omitzero"`
}

// TaskWithdrawn is an item that was removed from the file, or dropped.
type TaskWithdrawn struct {
	Task   string `json:"task"`
	From   string `json:"from"`
	Reason string `json:"reason,omitempty"`
}

// TaskFinished is the end of an attempt.
type TaskFinished struct {
	Task         string `json:"task"`
	Run          string `json:"run,omitempty"`
	State        string `json:"state"`
	Reason       string `json:"reason,omitempty"`
	Message      Ref    `json:"message,omitzero"`
	Attempt      int    `json:"attempt"`
	Commit       string `json:"commit,omitempty"`
	CostMicroUSD int64  `json:"cost_microusd"`
	MS           int64  `json:"ms"`
}

// ScheduleWoken is a look at the file, and why.
type ScheduleWoken struct {
	Cause  string `json:"cause"`
	Digest string `json:"digest,omitempty"` // of the file
	Ready  int    `json:"ready"`            // items that could be claimed
}

// IllegalTransition is a move of an item that was refused.
type IllegalTransition struct {
	Task   string `json:"task"`
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason,omitempty"`
}

// ConfigReloaded is a configuration read again. With an error the old one
// stays in force.
type ConfigReloaded struct {
	Old   string `json:"old_digest"`
	New   string `json:"digest"`
	Error string `json:"error,omitempty"`
}
