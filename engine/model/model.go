// Package model asks a language model for one turn.
//
// A [Provider] streams a turn as events. [Collect] gathers them into a [Reply]
// and is the only place that decides whether a turn happened at all: nobody
// watches hob type, so a turn is atomic, and a stream that dies half-way leaves
// nothing behind. [Ask] is Collect with the few retries that are safe against
// the same provider. Callers want Ask.
//
// What went wrong is an [Error] with a [Class] from a closed set. Classes are
// decided from statuses, Go error types and the code or type fields of error
// bodies, never from prose: wording changes without notice, and a model's own
// words may be among it.
//
// Money is a [Ledger] of int64 micro-USD on disk. A call's worst cost is
// reserved durably before the request leaves and settled when the stream ends,
// so that a killed process has spent too much on paper rather than too much in
// truth. Wrap a provider with [Metered] and no call, first try or retry, can
// pass the limits.
//
// The scripted model ([NewScript]) is a real provider that needs no network: it
// drives the demo and the tests through the code that other models use. The
// wires that talk HTTP live in engine/model/wire.
package model

import (
	"context"
	"encoding/json"
	"iter"
)

// A Provider is one model at one endpoint. It may be used by several goroutines
// at once, retries nothing by itself, and keeps no state between calls that
// would change an answer.
type Provider interface {
	// Stream asks for one turn. The last item is a Done event or an error, after
	// which the sequence ends; a sequence that ends otherwise was cut. Errors are
	// *Error where the provider could tell what happened. Nothing is sent before
	// the sequence is ranged over, and ranging twice asks twice. Ending the range
	// early, or ctx, gives the connection up.
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
	// Info tells what is known about the model before it is asked.
	Info() Info
}

// Info describes a provider. It never holds a key.
type Info struct {
	ID            string // "openai:gpt-5", for people and the journal
	Kind          string // the provider key of hob.toml: "openai", "script"
	Model         string // the name the endpoint knows it by
	Host          string // endpoint's host and port; empty for a script
	ContextWindow int    // tokens, prompt and reply together
	MaxOutput     int    // tokens of one reply
	Tools         bool   // tool calls are native; otherwise the agent speaks its text protocol
	Price         *Price // nil: unknown, which is not the same as free
}

// A Role says who speaks in a [Message].
type Role string

// The roles of a conversation. A Tool message answers one call of the Assistant.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// A Message is one entry of the conversation. Earlier messages must be resent
// unchanged: providers bill a known prefix at a tenth of the price.
type Message struct {
	Role   Role
	Text   string
	Calls  []Call // of an Assistant message
	CallID string // of a Tool message: the call it answers
	Name   string // of a Tool message: the tool's name
}

// A Call is the model's wish to have a tool run. It is always whole.
type Call struct {
	ID   string          // the provider's; pairs the call with its result
	Name string          // as the model spelled it; it need not be a tool that exists
	Args json.RawMessage // a JSON text, kept byte for byte so that resending it keeps the prefix
}

// A ToolSpec offers a tool to a model with native calls.
type ToolSpec struct {
	Name, Description string
	Schema            json.RawMessage // JSON Schema of the arguments
}

// A Request is everything one turn depends on.
type Request struct {
	Messages  []Message
	Tools     []ToolSpec // order doesn't matter: wires sort by name
	MaxOutput int        // tokens; 0 means the model's own limit
	Item      Item
	CacheKey  string // groups requests with one prefix; empty is fine
}

// An Item tells the scripted model where it stands. Other providers ignore it.
type Item struct {
	Text string // the TODO item's text
	// Answers counts the calls made for this item before this one, in all its
	// attempts, whatever came of them: errors count as replies do.
	Answers int
}

// An Event is one piece of a turn. Exactly one field is set.
type Event struct {
	Text      string // a piece of the reply
	Reasoning string // a piece of the model's thinking; never acted upon
	Call      *Call  // a whole call; partial ones are never shown
	Usage     *Usage // may come more than once: the last one counts
	Done      *Done  // the end
}

// Done ends a turn that the model finished by itself.
type Done struct {
	Stop string // one of the Stop constants, or the provider's own word
}

// Why a model stopped. A provider's word that is none of these is passed on.
const (
	StopEnd    = "stop"           // it was finished
	StopCalls  = "tool_calls"     // it waits for tool results
	StopLength = "length"         // the output limit cut it; the text ends anywhere
	StopFilter = "content_filter" // it, or a filter behind it, refused
)
