package task

import "slices"

// A State says where an item stands. The set is closed; [Legal] holds the moves.
type State string

// The states, in the order an item that lands passes through them, then the
// places where it rests.
const (
	Queued     State = "queued"     // ready to be claimed
	Waiting    State = "waiting"    // held, or until a time or another item
	Preparing  State = "preparing"  // claimed: snapshot and baseline
	Running    State = "running"    // the model works
	Validating State = "validating" // checks run on the frozen tree
	Repairing  State = "repairing"  // the model works on what the checks said
	Committing State = "committing" // the commit is being written
	Committed  State = "committed"  // on the agent branch, not yet on every target
	Pushed     State = "pushed"     // every target holds the commit
	Merged     State = "merged"     // the base holds the commit
	Accepted   State = "accepted"   // a person ticked the box or said so
	Noop       State = "noop"       // nothing to change; rests until the item's content changes
	Throttled  State = "throttled"  // a quota is used up until NotBefore
	Blocked    State = "blocked"    // a named fact is missing
	Failed     State = "failed"     // the attempt is over; another follows after a backoff
	Paused     State = "paused"     // no further attempt by itself
	Rejected   State = "rejected"   // the branch was deleted unmerged
	Withdrawn  State = "withdrawn"  // the item left TODO.md
)

// States returns all states, in the order of the constants.
func States() []State {
	return []State{
		Queued, Waiting, Preparing, Running, Validating, Repairing, Committing, Committed, Pushed,
		Merged, Accepted, Noop, Throttled, Blocked, Failed, Paused, Rejected, Withdrawn,
	}
}

// legal is the whole table: what is not here is refused.
var legal = map[State][]State{
	Queued:     {Waiting, Blocked, Preparing, Withdrawn, Accepted},
	Waiting:    {Queued, Blocked, Withdrawn, Accepted},
	Blocked:    {Queued, Withdrawn, Accepted},
	Preparing:  {Running, Blocked, Failed, Throttled, Queued, Withdrawn},
	Running:    {Validating, Noop, Failed, Blocked, Paused, Throttled, Queued, Withdrawn},
	Validating: {Committing, Repairing, Failed, Paused, Blocked, Queued},
	Repairing:  {Validating, Noop, Failed, Blocked, Paused, Throttled, Queued}, // DECISIONS 8
	Throttled:  {Preparing, Queued, Withdrawn},
	Failed:     {Queued, Paused, Withdrawn},
	Paused:     {Queued, Withdrawn, Accepted, Rejected},
	Noop:       {Queued, Withdrawn, Accepted},
	Committing: {Committed, Paused, Queued},
	Committed:  {Pushed, Merged, Rejected, Accepted},
	Pushed:     {Merged, Accepted, Rejected, Committed},
	Merged:     {Queued},
	Accepted:   {Queued},
	Rejected:   {Queued},
	Withdrawn:  {Queued},
}

// Legal reports whether a task may go from one state to the other in one move.
// Staying in a state is no move.
func Legal(from, to State) bool { return slices.Contains(legal[from], to) }

// Active reports whether an attempt is under way: a slot works on the task, or
// a killed process left it so.
func (s State) Active() bool {
	switch s {
	case Preparing, Running, Validating, Repairing, Committing:
		return true
	default:
		return false
	}
}

// Landed reports whether items that depend on this one may start.
func (s State) Landed() bool { return s == Pushed || s == Merged || s == Accepted }

// Terminal reports whether only a new generation leaves the state.
func (s State) Terminal() bool {
	switch s {
	case Merged, Accepted, Rejected, Withdrawn:
		return true
	default:
		return false
	}
}

// route returns the legal moves that lead from one state to the other: the
// direct one, else two by way of queued or failed, which is how a failed task
// is accepted or a prepared one paused. It returns nil when there is no such
// way, and an empty slice when both are the same state.
func route(from, to State) []State {
	switch {
	case from == to:
		return []State{}
	case Legal(from, to):
		return []State{to}
	case Legal(from, Queued) && Legal(Queued, to):
		return []State{Queued, to}
	case Legal(from, Failed) && Legal(Failed, to):
		return []State{Failed, to}
	default:
		return nil
	}
}
