package task

import (
	"slices"
	"time"

	"hob/engine/todo"
)

// Changes are what a reading of TODO.md did to the tasks. A task stands in one
// list only, except that a renamed one can stand in a second as well.
type Changes struct {
	Queued    []Task   // new to the store, or back in the queue; new ones may be waiting or blocked
	Parked    []Task   // now waiting or blocked
	Renamed   []Rename // reworded: same task, other id
	Withdrawn []Task   // left the file
	Accepted  []Task   // ticked by a person
	Recalled  []Task   // under way, and to be ended: see Task.Recall
	// Ticked are committed and pushed tasks whose box is ticked since this
	// reading. It is hob's own tick when the agent branch is checked out, and
	// a person's, or that of a merge, otherwise. Only git can tell, so the
	// caller moves them.
	Ticked []Task
}

// A Rename is a task whose item was reworded.
type Rename struct {
	From string // its id until now
	To   Task
}

// Sync brings the tasks in step with TODO.md. What it does is safe to do again:
// after an error, or a crash, the next Sync completes it. An unchanged file costs
// no write, so call it on every sweep. A file over the limits changes nothing.
//
//   - An open item without a task becomes one; a done item does not.
//   - An edited item is worked afresh: failed, paused, blocked and noop tasks go
//     back to queued with their attempts reset. Cost and totals stay.
//   - A reworded item ([todo.Diff]) keeps its task under the new id.
//   - An item that left the file withdraws its task, unless it landed. When it
//     comes back, it is queued as a new generation; unedited, the attempts count on.
//   - A ticked box accepts a task that has no commit. A box that is open again
//     after merged or accepted begins a new generation.
//   - A task under way is only marked ([Task.Recall]); the Sync after its end
//     does the rest. Until then it is not claimed.
//
// Notice merges before Sync: a merged branch brings its ticks along.
func (s *Store) Sync(doc todo.Doc, now time.Time) (Changes, error) {
	if doc.TooLarge {
		return Changes{}, nil
	}
	r := reading{doc: doc, now: now}
	err := s.write(func(w *writing) error {
		r.writing = w
		return r.run()
	})
	return r.changes, err
}

// A reading is one Sync.
type reading struct {
	*writing

	doc     todo.Doc
	now     time.Time
	facts   []entry
	listed  map[string]bool  // ids that the file accounts for
	from    map[string]*Task // reworded tasks by their new ids
	later   map[string]bool  // new ids of tasks under way, taken up when these end
	changes Changes
}

func (r *reading) run() error {
	r.facts = entries(r.doc)
	r.listed, r.from, r.later = map[string]bool{}, map[string]*Task{}, map[string]bool{}
	if err := r.rename(); err != nil {
		return err
	}
	for _, e := range r.facts {
		if r.listed[e.ID] || r.later[e.ID] {
			continue // an id used twice is one blocked task
		}
		r.listed[e.ID] = true
		if err := r.meet(e); err != nil {
			return err
		}
	}
	for _, t := range sorted(r.tasks) {
		if !r.listed[t.ID] {
			if err := r.miss(t); err != nil {
				return err
			}
		}
	}
	woken, err := r.wake(r.now, ClaimOptions{})
	for _, m := range woken {
		r.note(m.From, m.Task)
	}
	if err != nil {
		return err
	}
	return r.remember()
}

// rename finds reworded items. Their tasks get the new id when they are met,
// unless they are under way: the engine knows these by the id they have.
func (r *reading) rename() error {
	before := r.before()
	for _, pair := range todo.Diff(before, r.doc).Renamed {
		t, id := r.tasks[before.Items[pair[0]].ID], r.doc.Items[pair[1]].ID
		i := slices.IndexFunc(r.facts, func(e entry) bool { return e.ID == id })
		switch {
		case t == nil || i < 0:
		case !t.State.Active():
			r.from[id] = t
		default:
			r.listed[t.ID], r.later[id] = true, true
			done := r.facts[i].Done
			if err := r.mark(t, func(n *Task) { n.Present, n.Ticked, n.Edited = true, done, true }); err != nil {
				return err
			}
		}
	}
	return nil
}

// before is the last reading: the tasks that were in it, and the bystanders.
func (r *reading) before() todo.Doc {
	var doc todo.Doc
	for _, t := range sorted(r.tasks) {
		if t.Present {
			doc.Items = append(doc.Items, todo.Item{ID: t.ID, Text: t.Text, Depth: t.Depth, Parent: -1})
		}
	}
	for _, b := range r.bystanders {
		if t := r.tasks[b.ID]; t == nil || !t.Present {
			doc.Items = append(doc.Items, todo.Item{ID: b.ID, Text: b.Text, Depth: b.Depth, Parent: -1, Done: true})
		}
	}
	return doc
}

// reworded is t under a new id. What an ended task of that id has taken is
// added: nothing that was bought is forgotten.
func (t *Task) reworded(id string, ended *Task) *Task {
	n := t.clone()
	n.ID = id
	n.Former = append(n.Former, t.ID)
	if ended != nil {
		n.Former = append(slices.Clone(ended.Former), n.Former...)
		n.Runs = append(slices.Clone(ended.Runs), n.Runs...)
		n.Generation = max(n.Generation, ended.Generation)
		n.TotalAttempts += ended.TotalAttempts
		n.CostMicroUSD += ended.CostMicroUSD
		n.Rev = max(n.Rev, ended.Rev)
	}
	return &n
}

// meet brings the task of an item that stands in the file in step with it.
func (r *reading) meet(e entry) error {
	t := r.tasks[e.ID]
	old := r.from[e.ID]
	if old != nil {
		t = old.reworded(e.ID, t)
	}
	switch {
	case t == nil && e.Done:
		return nil
	case t == nil:
		return r.create(e)
	case t.State.Active():
		return r.mark(t, func(n *Task) {
			text, content := n.Text, n.ContentHash // of the attempt
			e.tell(n)
			n.Edited = n.ContentHash != content
			n.Text, n.ContentHash = text, content
		})
	}
	n := t.clone()
	edited := n.ContentHash != e.ContentHash
	e.tell(&n)
	n.Edited = false
	if to, move := r.aim(*t, &n, edited); move {
		n.travel(to, r.now)
	}
	if err := r.save(&n); err != nil {
		return err
	}
	if old != nil {
		if err := r.drop(old, n); err != nil {
			return err
		}
	}
	if n.Ticked && !t.Ticked && (n.State == Committed || n.State == Pushed) {
		r.changes.Ticked = append(r.changes.Ticked, n)
	}
	r.note(t.State, n)
	return nil
}

// drop removes the file of the id that a reworded task had. The new file stands
// already: of two files of one serial the newer counts.
func (r *reading) drop(old *Task, n Task) error {
	delete(r.tasks, old.ID)
	r.changes.Renamed = append(r.changes.Renamed, Rename{From: old.ID, To: n})
	return r.folder.remove(fileName(old.ID))
}

// aim tells where a task that is not under way has to go, if anywhere. old is
// the task before the reading, n already knows what the file says.
func (r *reading) aim(old Task, n *Task, edited bool) (to stand, move bool) {
	switch n.State {
	case Committed, Pushed:
		return stand{}, false
	case Merged, Accepted:
		move = old.Ticked && !n.Ticked
	case Rejected:
		move = edited && !n.Ticked
	case Withdrawn:
		move = (edited || !old.Present) && !n.Ticked
	case Queued, Waiting, Blocked, Paused, Failed, Noop, Throttled:
		if n.Ticked {
			return stand{Accepted, None, "ticked in TODO.md"}, true
		}
		ofItem := n.Reason == BadAttr || n.Reason == DuplicateID || n.Reason == DependencyCycle
		move = edited || n.State == Queued || n.State == Waiting || n.State == Blocked && ofItem
	}
	if !move {
		return stand{}, false
	}
	if edited || n.State == Merged || n.State == Accepted {
		n.startAnew()
	}
	return r.gate(n, r.now), true
}

func (r *reading) create(e entry) error {
	r.serial++
	n := Task{Schema: Schema, Serial: r.serial, ID: e.ID, Generation: 1}
	e.tell(&n)
	to := r.gate(&n, r.now)
	n.enter(to.state, to.reason, to.message, r.now)
	if err := r.save(&n); err != nil {
		return err
	}
	r.changes.Queued = append(r.changes.Queued, n)
	return nil
}

// mark notes on a task under way what the file says of it.
func (r *reading) mark(t *Task, edit func(*Task)) error {
	n := t.clone()
	edit(&n)
	if err := r.save(&n); err != nil {
		return err
	}
	if n.Recall() != "" && t.Recall() == "" {
		r.changes.Recalled = append(r.changes.Recalled, n)
	}
	return nil
}

// miss is for a task whose item left the file.
func (r *reading) miss(t *Task) error {
	if t.State.Active() {
		return r.mark(t, func(n *Task) { n.Present = false })
	}
	n := t.clone()
	n.Present = false
	if Legal(n.State, Withdrawn) {
		n.step(Withdrawn, None, "left TODO.md", r.now)
	}
	if err := r.save(&n); err != nil {
		return err
	}
	r.note(t.State, n)
	return nil
}

// note adds a move to the changes.
func (r *reading) note(from State, n Task) {
	if from == n.State {
		return
	}
	c := &r.changes
	switch n.State {
	case Queued:
		c.Queued = append(c.Queued, n)
	case Waiting, Blocked:
		c.Parked = append(c.Parked, n)
	case Withdrawn:
		c.Withdrawn = append(c.Withdrawn, n)
	case Accepted:
		c.Accepted = append(c.Accepted, n)
	}
}

// remember keeps the items that are no tasks for the next comparison.
func (r *reading) remember() error {
	var list []bystander
	for _, it := range r.doc.Items {
		if r.tasks[it.ID] == nil && !r.later[it.ID] {
			list = append(list, bystander{ID: it.ID, Text: it.Text, Depth: it.Depth})
		}
	}
	if slices.Equal(list, r.bystanders) {
		return nil
	}
	if err := r.folder.writeBystanders(list); err != nil {
		return err
	}
	r.bystanders = list
	return nil
}

// An entry is an item that is a task, or would be one were it open.
type entry struct {
	todo.Item

	order   int
	depends []string // ids of tasks
}

// tell copies what the file says to a task.
func (e entry) tell(t *Task) {
	t.Text, t.Depth, t.ContentHash = e.Text, e.Depth, e.ContentHash
	t.Priority, t.Order = e.Priority(), e.order
	t.Present, t.Ticked, t.Held = true, e.Done, e.Hold
	t.After, t.Depends = stamp(e.After()), e.depends
	t.Wrong, t.WrongWhy = wrong(e.Item), e.Why
}

// wrong is what is wrong with the item itself.
func wrong(it todo.Item) Reason {
	switch r := Reason(it.Blocked); {
	case r == None || r.fits(Blocked):
		return r
	default:
		return BadAttr
	}
}

// entries lists the tasks of a reading with what each waits for: the items it
// depends on, and below a split item the sibling before it.
func entries(doc todo.Doc) []entry {
	l := links{items: doc.Items, tasks: map[int]bool{}, byID: map[string]int{}}
	for i := len(doc.Items) - 1; i >= 0; i-- {
		l.byID[doc.Items[i].ID] = i // of an id used twice the first counts
	}
	order := doc.Tasks()
	for _, i := range order {
		l.tasks[i] = true
	}
	list := make([]entry, 0, len(order))
	for _, i := range order {
		list = append(list, entry{Item: doc.Items[i], order: i, depends: l.of(i)})
	}
	return list
}

// links resolves what the items of one file wait for.
type links struct {
	items []todo.Item
	tasks map[int]bool
	byID  map[string]int
}

// of returns the ids of the open tasks that item i waits for, in order.
func (l links) of(i int) []string {
	var ids []string
	add := func(j int) {
		for _, id := range l.open(j) {
			if id != l.items[i].ID && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	for at := i; at >= 0; at = l.items[at].Parent {
		for _, id := range l.items[at].Depends() {
			if j, ok := l.byID[id]; ok {
				add(j)
			}
		}
		if before := l.before(at); before >= 0 {
			add(before)
		}
	}
	return ids
}

// before is the sibling in front of item i below a split parent, or -1.
func (l links) before(i int) int {
	parent := l.items[i].Parent
	if parent < 0 {
		return -1
	}
	for j := i - 1; j > parent; j-- {
		if l.items[j].Parent == parent {
			return j
		}
	}
	return -1
}

// open returns the open tasks that have to land for item j to count as done:
// itself, the parts of a split one, or the task that a criterion belongs to.
func (l links) open(j int) []string {
	if l.items[j].Done {
		return nil
	}
	if l.tasks[j] {
		return []string{l.items[j].ID}
	}
	var ids []string
	for k := j + 1; k < len(l.items) && l.items[k].Depth > l.items[j].Depth; k++ {
		if l.tasks[k] && !l.items[k].Done {
			ids = append(ids, l.items[k].ID)
		}
	}
	if ids != nil {
		return ids
	}
	for at := l.items[j].Parent; at >= 0; at = l.items[at].Parent {
		if l.tasks[at] {
			return []string{l.items[at].ID}
		}
	}
	return nil
}
