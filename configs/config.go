// Package configs turns the places a setting can come from into one checked configuration.
//
// The embedded hob.toml is the reference: every key, its default, its unit and its effect.
// [Reference] returns it. What [Load] returns has passed every rule of that file, so no other
// package checks a setting again.
//
// # Layers
//
// A key is looked for, in this order, in a flag, in a HOB_ variable of the environment, in the
// repository's hob.toml, in the user's config.toml, and in the reference. The first that has it
// wins, key by key; an array ([[model]], a list of strings) is taken whole, never merged.
//
// # Strictness
//
// An unattended program must not guess. An unknown key, a key in the wrong case, a number where
// a duration belongs, a value out of its range: each is a [Problem] with file, line and column,
// and Load reports all of them at once. go-toml alone would accept `NAME` for `name`
// (its field match ignores case), take `5` for five nanoseconds and stop at the first wrong
// type; so the values here are decoded from its syntax tree, where every one has a position.
//
// # Trust
//
// A repository's hob.toml is written by whoever can push to the repository. What would let it
// run commands, send keys elsewhere or loosen the sandbox is held back until the user trusts
// the file, and listed in [Loaded.Untrusted]; a few keys never count there. Advice for a new
// key: ask what a stranger could do with it, then look at trust.go.
package configs

// A Config holds every setting hob knows. The field tags are the keys of hob.toml; a test
// keeps the two in step. All values of a Config that came from [Load] are within their range.
type Config struct {
	Autonomous Autonomous  `toml:"autonomous"`
	Todo       Todo        `toml:"todo"`
	Schedule   Schedule    `toml:"schedule"`
	Agent      Agent       `toml:"agent"`
	Model      []Model     `toml:"model"`
	Budget     Budget      `toml:"budget"`
	Validators []Validator `toml:"validators"`
	Setup      Setup       `toml:"setup"`
	Services   []Service   `toml:"services"`
	Sandbox    Sandbox     `toml:"sandbox"`
	Scope      Scope       `toml:"scope"`
	Git        Git         `toml:"git"`
	Journal    Journal     `toml:"journal"`
	Taste      Taste       `toml:"taste"`
	Secrets    Secrets     `toml:"secrets"`
	Log        Log         `toml:"log"`
}

// Autonomous says what the daemon watches, where its work goes and when it gives up.
type Autonomous struct {
	TodoPath    string `toml:"todo_path"`    // slash-separated, inside the work tree
	StatusPath  string `toml:"status_path"`  // empty: the state folder
	TestCommand string `toml:"test_command"` // always empty after Load: it has become a validator
	// Interval is the time between two sweeps without an event; 0 means none.
	Interval            Duration `toml:"interval"`
	GitRemote           string   `toml:"git_remote"` // empty: push to no remote
	GitBranch           string   `toml:"git_branch"` // may hold {task} once
	CommandTimeout      Duration `toml:"command_timeout"`
	MaxFailuresPerState int      `toml:"max_failures_per_state"`
	Workers             int      `toml:"workers"`
	StopGrace           Duration `toml:"stop_grace"`
}

// Todo says how a finished item is marked in the TODO file.
type Todo struct {
	Mark     string `toml:"mark"` // auto, branch or trailer
	AllowRun bool   `toml:"allow_run"`
}

// Schedule holds the times of day at which the daemon sweeps.
type Schedule struct {
	Cron   []string `toml:"cron"` // five fields each; package schedule parses them
	TZ     string   `toml:"tz"`   // a name time.LoadLocation knows
	Quiet  []string `toml:"quiet"`
	Missed string   `toml:"missed"` // run_once or skip
}

// Agent bounds one session with a model.
type Agent struct {
	MaxTurns           int      `toml:"max_turns"`
	MaxWall            Duration `toml:"max_wall"`
	MaxRepairAttempts  int      `toml:"max_repair_attempts"`
	RepoMapTokens      int      `toml:"repo_map_tokens"`
	EditFormatOverride string   `toml:"edit_format_override"` // empty: as the model prefers
	SystemPromptFile   string   `toml:"system_prompt_file"`   // empty: the built-in prompt
}

// A Model is one entry of the fallback chain; the first is the primary.
type Model struct {
	Provider string `toml:"provider"`
	Model    string `toml:"model"`
	BaseURL  string `toml:"base_url"`
	// SecretRef says where the key is, never what it is. Load fills in env:OPENAI_API_KEY for
	// provider openai without a base_url: no other endpoint may receive that key by default.
	SecretRef     string            `toml:"secret_ref"`
	Headers       map[string]string `toml:"headers"`
	ContextWindow int               `toml:"context_window"` // tokens; 0: from the table
	MaxOutput     int               `toml:"max_output"`     // tokens; 0: from the table
	Tools         string            `toml:"tools"`          // auto, native or text
	EditFormat    string            `toml:"edit_format"`
	Price         *Price            `toml:"price"` // nil: from the table, else unknown
	Script        string            `toml:"script"`
}

// A Price is in USD per million tokens. Load sets an absent cache price to Input: that can
// only overestimate what a cached prefix costs to read.
type Price struct {
	Input      USD `toml:"input"`
	Output     USD `toml:"output"`
	CacheRead  USD `toml:"cache_read"`
	CacheWrite USD `toml:"cache_write"`
}

// Budget limits what models may cost. A limit of 0 is no limit of that kind.
type Budget struct {
	Enabled        bool   `toml:"enabled"`
	PerRunUSD      USD    `toml:"per_run_usd"`
	PerItemUSD     USD    `toml:"per_item_usd"`
	DailyUSD       USD    `toml:"daily_usd"`
	MonthlyUSD     USD    `toml:"monthly_usd"`
	WarnPct        int    `toml:"warn_pct"` // 1 to 100
	OnLimit        string `toml:"on_limit"` // pause, downgrade or stop
	DowngradeModel string `toml:"downgrade_model"`
	UnknownPrice   string `toml:"unknown_price"` // refuse or tokens_only
	PerRunTokens   int    `toml:"per_run_tokens"`
	Timezone       string `toml:"timezone"` // whose midnight starts a day
}

// A Validator is one command that decides whether a tree is acceptable. Exactly one of Run and
// Argv is set, and no two validators share a name, in whatever case.
type Validator struct {
	Name     string   `toml:"name"`
	Run      string   `toml:"run"` // a shell line
	Argv     []string `toml:"argv"`
	Required bool     `toml:"required"`
	// Timeout is never 0 after Load: an absent one is [autonomous] command_timeout.
	Timeout         Duration          `toml:"timeout"`
	Idle            Duration          `toml:"idle"` // without output; 0 means no such limit
	FailFast        bool              `toml:"fail_fast"`
	Paths           []string          `toml:"paths"`
	Env             map[string]string `toml:"env"`
	AcceptMutations bool              `toml:"accept_mutations"`
}

// Setup installs what validators need, before the sandbox closes.
type Setup struct {
	Run      []string `toml:"run"`
	Network  []string `toml:"network"`
	OnChange string   `toml:"on_change"` // park or run
	Timeout  Duration `toml:"timeout"`
}

// A Service runs beside the validators, a database for example.
type Service struct {
	Name    string   `toml:"name"`
	Run     string   `toml:"run"`
	Ready   string   `toml:"ready"`
	Timeout Duration `toml:"timeout"`
}

// Sandbox says how tightly commands are held.
type Sandbox struct {
	Mode    string   `toml:"mode"`    // strict, best-effort or off
	Network string   `toml:"network"` // none, loopback or host
	RO      []string `toml:"ro"`
	RW      []string `toml:"rw"`
	Memory  Size     `toml:"memory"`
	Pids    int      `toml:"pids"`
	Cache   string   `toml:"cache"` // repo or shared
}

// Scope limits which files, and how much of them, one item may change.
type Scope struct {
	Paths     []string `toml:"paths"`
	Protected []string `toml:"protected"`
	MaxFiles  int      `toml:"max_files"`
	MaxLines  int      `toml:"max_lines"`
}

// Git names what commits start from and who signs for them.
type Git struct {
	Base        string   `toml:"base"` // empty: the branch HEAD is on
	AuthorName  string   `toml:"author_name"`
	AuthorEmail string   `toml:"author_email"`
	Sign        string   `toml:"sign"`
	SlotsKeep   Duration `toml:"slots_keep"`
}

// Journal says what evidence is kept.
type Journal struct {
	MaxPayloadBytes int      `toml:"max_payload_bytes"`
	RecordContent   bool     `toml:"record_content"`
	RecordReasoning bool     `toml:"record_reasoning"`
	FailureMode     string   `toml:"failure_mode"` // warn or fail
	PushLog         bool     `toml:"push_log"`
	Retention       Duration `toml:"retention"`
}

// Taste says how much of a project's style is learned.
type Taste struct {
	Enabled       bool    `toml:"enabled"`
	MinConfidence float64 `toml:"min_confidence"` // 0 to 1
	MaxItems      int     `toml:"max_items"`
	Enforce       bool    `toml:"enforce"`
}

// Secrets names values that must never leave the machine, beside those hob finds itself.
type Secrets struct {
	Env   []string `toml:"env"`   // names of environment variables, not values
	Allow []string `toml:"allow"` // literals that are no secrets
}

// Log says how the daemon's log looks.
type Log struct {
	Format string `toml:"format"` // auto, tint, json or journald
	Level  string `toml:"level"`  // debug, info, warn or error
}

// elementDefaults are what the keys of one array-table entry hold when it leaves them out.
// They can't stand in the reference, where array tables are commented out.
func elementDefaults() (Model, Validator, Service) {
	return Model{Tools: "auto"},
		Validator{Required: true, Idle: minutes(5)},
		Service{Timeout: minutes(1)}
}
