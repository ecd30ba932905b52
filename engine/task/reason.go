package task

import "slices"

// A Reason is the code for why a task is where it is. The set is closed: logs,
// the status file and the user's scripts match on it.
type Reason string

// None is the reason of a task that moves along as it should.
const None Reason = ""

// Reasons to pause: a person decides, or a budget's window ends.
const (
	TestsWeakened    Reason = "tests_weakened"
	ScopeProtected   Reason = "scope_protected"
	ScopeOutside     Reason = "scope_outside"
	TooLarge         Reason = "too_large"
	SecretAdded      Reason = "secret_added"
	ValidatorMutates Reason = "validator_mutates"
	APIBreak         Reason = "api_break"
	BudgetRun        Reason = "budget_run"
	BudgetItem       Reason = "budget_item"
	BudgetDay        Reason = "budget_day"
	BudgetMonth      Reason = "budget_month"
	CrashLoop        Reason = "crash_loop"
	SecurityRefused  Reason = "security_refused" // the message says path_escape or symlink_escape
)

// Reasons to fail: tried again after a backoff, paused with the same reason at
// the limits.
const (
	ValidatorsFailed Reason = "validators_failed"
	EditsRefused     Reason = "edits_refused"
	ScriptMismatch   Reason = "script_mismatch"
	ModelUnusable    Reason = "model_unusable"
	ModelRequest     Reason = "model_request"
	NoProgress       Reason = "no_progress"
	RepeatCall       Reason = "repeat_call"
	TurnsSpent       Reason = "turns_spent"
	WallSpent        Reason = "wall_spent"
	ContextExhausted Reason = "context_exhausted"
	ModelRefused     Reason = "model_refused"
	Internal         Reason = "internal" // a bug of hob; the stack is in the journal
)

// Reasons to end without a change.
const (
	NothingToDo          Reason = "nothing_to_do"
	ClaimedWithoutChange Reason = "claimed_without_change"
)

// Reasons to block: the named fact has to change first.
const (
	NoCommits           Reason = "no_commits"
	TodoUnreadable      Reason = "todo_unreadable"
	RepoUnsupported     Reason = "repo_unsupported"
	BadAttr             Reason = "bad_attr"
	DuplicateID         Reason = "duplicate_id"
	DependencyCycle     Reason = "dependency_cycle"
	Question            Reason = "question"
	DependenciesChanged Reason = "dependencies_changed"
	SandboxUnavailable  Reason = "sandbox_unavailable"
	ValidatorMissing    Reason = "validator_missing"
	NoTestsRan          Reason = "no_tests_ran"
	BaselineBroken      Reason = "baseline_broken"
	Auth                Reason = "auth"
	BadConfig           Reason = "bad_config"
	UntrustedConfig     Reason = "untrusted_config"
)

// Reasons why a commit is not on every target yet.
const (
	PushRejected      Reason = "push_rejected"
	BranchCheckedOut  Reason = "branch_checked_out"
	Diverged          Reason = "diverged"
	RemoteUnreachable Reason = "remote_unreachable"
)

// Reasons to wait for a quota.
const (
	RateLimited  Reason = "rate_limited"
	ProviderDown Reason = "provider_down"
	BudgetWait   Reason = "budget_wait"
)

// Reasons of the whole daemon; no task carries them.
const (
	Disk           Reason = "disk"
	UserRepoLocked Reason = "user_repo_locked"
	DaemonDegraded Reason = "daemon_degraded"
)

// Interrupted is the reason of a queued task whose attempt was cut short and
// not counted.
const Interrupted Reason = "interrupted"

// facts are what the rest of hob may ask about a reason.
type facts struct {
	reason Reason
	states []State // empty: a reason of the daemon
	hint   string  // one line; commands stand in backquotes and exist
}

// The states a class of reasons is used with.
var (
	inPaused    = []State{Paused}
	inFailed    = []State{Failed, Paused}
	inNoop      = []State{Noop}
	inBlocked   = []State{Blocked}
	inCommitted = []State{Committed}
	inThrottled = []State{Throttled}
	inQueued    = []State{Queued}
)

// reasons is the whole list, in the order of the documentation. A new reason
// is a constant and a line here; a test insists on both.
var reasons = []facts{
	{TestsWeakened, inPaused, "look at the change with `hob show TASK`; if the tests are meant to change, add tests=edit to the item"},
	{ScopeProtected, inPaused, "the change touches a protected path: see `hob show TASK`, then say in the item how to do without it"},
	{ScopeOutside, inPaused, "the change leaves the allowed paths: widen paths= of the item or [scope] paths in hob.toml"},
	{TooLarge, inPaused, "split the item into smaller ones, or raise [scope] max_files and max_lines in hob.toml"},
	{SecretAdded, inPaused, "the change adds a secret: see `hob show TASK`; a test credential goes into [secrets] allow in hob.toml"},
	{ValidatorMutates, inPaused, "a validator rewrites tracked files: make it only check, or set accept_mutations = true for it in hob.toml"},
	{APIBreak, inPaused, "the old tests no longer compile with the change: see `hob show TASK`; if that is meant, add tests=edit to the item"},
	{ValidatorsFailed, inFailed, "see what failed with `hob show TASK`; say more in the item, or fix the check, and it is tried again"},
	{EditsRefused, inFailed, "the model's edits did not fit the files: name the files in the item, or set edit_format of the model in hob.toml"},
	{ScriptMismatch, inFailed, "the script expected another message: `hob show TASK` has both; correct the script"},
	{ModelUnusable, inFailed, "the model's replies could not be used: see `hob show TASK`, or put another [[model]] first in hob.toml"},
	{ModelRequest, inFailed, "the provider refused the request: check model, base_url and max_output with `hob config check`"},
	{NoProgress, inFailed, "the same failure came back after each repair: see `hob show TASK` and add to the item what is missing"},
	{RepeatCall, inFailed, "the model repeated itself: see `hob show TASK` and make the item more exact"},
	{TurnsSpent, inFailed, "split the item, or raise max-turns of the item within [agent] max_turns in hob.toml"},
	{WallSpent, inFailed, "split the item, or raise timeout of the item within [agent] max_wall in hob.toml"},
	{ContextExhausted, inFailed, "split the item, or set context_window of the [[model]] in hob.toml if it has more"},
	{ModelRefused, inFailed, "the model declined: see `hob show TASK`, reword the item or put another [[model]] first in hob.toml"},
	{BudgetRun, inPaused, "one attempt cost per_run_usd: split the item, or raise [budget] per_run_usd in hob.toml"},
	{BudgetItem, inPaused, "the item cost its whole budget: raise its budget= within [budget] per_item_usd in hob.toml, or split it"},
	{BudgetDay, inPaused, "goes on tomorrow by itself; to go on now raise [budget] daily_usd in hob.toml"},
	{BudgetMonth, inPaused, "goes on next month by itself; to go on now raise [budget] monthly_usd in hob.toml"},
	{CrashLoop, inPaused, "hob died three times in a row on this item: see `hob runs list`, then edit the item's text to try again"},
	{SecurityRefused, inPaused, "an edit or command tried to leave the work folder: see `hob show TASK`, then edit the item's text to try again"},
	{NothingToDo, inNoop, "nothing had to change: tick the box if that is right, else say in the item what is missing"},
	{ClaimedWithoutChange, inNoop, "the model says it is done but changed nothing: see `hob show TASK`, then tick the box or reword the item"},
	{NoCommits, inBlocked, "make a first commit: hob starts from a commit, not from the work tree"},
	{TodoUnreadable, inBlocked, "write TODO.md, a regular file of at most 1 MiB and 20,000 lines, or set [autonomous] todo_path; `hob todo list` checks it"},
	{RepoUnsupported, inBlocked, "this kind of repository is not supported, for the reason given"},
	{BadAttr, inBlocked, "correct the item's attributes in TODO.md; `hob todo list` shows what is wrong"},
	{DuplicateID, inBlocked, "give each item in TODO.md its own id; `hob todo list` shows where it is used twice"},
	{DependencyCycle, inBlocked, "break the circle of depends= in TODO.md; `hob todo list` shows it"},
	{Question, inBlocked, "the model asks something: read it with `hob show TASK` and write the answer into the item's text"},
	{DependenciesChanged, inBlocked, "the change needs other dependencies: add them yourself and commit, or edit the item's text"},
	{SandboxUnavailable, inBlocked, "no cage is available here: set mode = \"off\" under [sandbox] in your own config to run commands without one"},
	{ValidatorMissing, inBlocked, "add a [[validators]] that can run here to hob.toml, or install its program; then `hob config check`"},
	{NoTestsRan, inBlocked, "a validator ran no test at all: correct its command in hob.toml, or add a first test and commit it"},
	{BaselineBroken, inBlocked, "a validator can't run on the untouched base either: see `hob show TASK` and repair the base first"},
	{Auth, inBlocked, "set the key that secret_ref of the [[model]] names, or correct it; `hob config check` tells what is missing"},
	{BadConfig, inBlocked, "`hob config check` tells what is wrong or missing; models and prices stand in your own config.toml"},
	{UntrustedConfig, inBlocked, "read the repository's hob.toml, then let it name commands and models with `hob trust`; restart a running hob"},
	{PushRejected, inCommitted, "the remote refused the branch: `hob show TASK` has its words; allow the push, and hob tries again"},
	{BranchCheckedOut, inCommitted, "check out another branch: git does not let hob move the one you are on"},
	{Diverged, []State{Committed, Blocked}, "the branch moved elsewhere: merge or remove the foreign commits, or set another git_branch in hob.toml"},
	{RemoteUnreachable, inCommitted, "the remote did not answer: check git_remote and the network, and hob tries again"},
	{RateLimited, inThrottled, "nothing to do: hob goes on when the provider allows it; `hob status` shows when"},
	{ProviderDown, inThrottled, "nothing to do: `hob run` tries again by itself; or call `hob once` later"},
	{BudgetWait, inThrottled, "nothing to do: hob goes on when running calls have given back what they reserved"},
	{Disk, nil, "free disk space for hob's state folder; `hob status` names it"},
	{UserRepoLocked, inCommitted, "finish the git command that holds a .lock file in your repository, or remove the file a crash left"},
	{DaemonDegraded, nil, "many items failed alike: `hob status` shows the cause; repair it, and hob goes on by itself"},
	{Interrupted, inQueued, "nothing to do: the item goes on when hob next runs; `hob once` takes it now"},
	{Internal, inFailed, "this is a bug in hob: `hob show TASK` has the stack for a report; the item is tried again"},
}

// Reasons returns the closed set, in the order of the documentation.
func Reasons() []Reason {
	all := make([]Reason, len(reasons))
	for i, f := range reasons {
		all[i] = f.reason
	}
	return all
}

// reserved are reasons that nothing gives yet: they wait for what will find them.
var reserved = []Reason{
	TestsWeakened, ScopeProtected, ScopeOutside, TooLarge, SecretAdded, ValidatorMutates, APIBreak,
	DependenciesChanged, BudgetWait, Disk, DaemonDegraded,
}

// Reserved reports whether nothing gives the reason yet.
func (r Reason) Reserved() bool { return slices.Contains(reserved, r) }

// Hint returns one line that tells a person what to do next, "" for [None] and
// for a reason that does not exist. Commands in it stand in backquotes; TASK
// is the task's id.
func (r Reason) Hint() string { return r.facts().hint }

// States returns the states a task may be in for this reason: none for the
// reasons of the whole daemon, for [None] and for a reason that does not exist.
func (r Reason) States() []State { return slices.Clone(r.facts().states) }

func (r Reason) facts() facts {
	i := slices.IndexFunc(reasons, func(f facts) bool { return f.reason == r })
	if i < 0 {
		return facts{}
	}
	return reasons[i]
}

// fits reports whether a task may be in state s for reason r. States that
// stop an item say why; the others may be silent.
func (r Reason) fits(s State) bool {
	if r != None {
		return slices.Contains(r.facts().states, s)
	}
	switch s {
	case Failed, Paused, Blocked, Noop, Throttled:
		return false
	default:
		return true
	}
}
