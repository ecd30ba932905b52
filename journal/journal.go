// Package journal keeps what every run did, in lines that prove they were not
// changed.
//
// A run is a folder: a manifest, a chain of events, one JSON object a line
// with the hash of the line before, and a file of the texts that the events
// refer to. [Log.Begin] makes one, [Run.Keep] stores a text, [Run.Record] an
// event, [Log.Verify] checks all of it:
//
//	$STATE/journal/runs/<run>/manifest.json   written once; the first event names its hash
//	                          events.ndjson   the chain
//	                          bodies.log      texts: length, salt, bytes
//	                          run.lock        held by the one writer
//
// # Rules for writers
//
// Record the event that names an act before the act, and act only after
// Record has returned nil: then the line is on the device. After a crash the
// record can lack the end of an act, never its beginning. An error from Record
// or Keep is final for that run; do not act on what was not recorded.
//
// Held secrets are masked in everything, before it is written or hashed.
//
// # What verifying proves
//
// A line fixes every line before it: a changed, missing, moved or added one
// breaks the chain, and a line has only one valid spelling. The first line
// fixes the run's id and manifest. Each text is fixed by a salted digest in
// its event; the salt keeps short texts from being guessed where the text
// itself is withheld.
//
// A chain does not prove its own end. Whole lines cut from the end leave a
// shorter chain that is valid: if run.finished was among them the run verifies
// as ok_open instead of ok, and an open run as before. The last line of an
// open run is fixed by nothing; run.finished carries a check of itself, which
// finds accidents. Nor does a chain prove its origin: whoever can write the
// files can compute a new one from any line on, or delete a run. Seals, a log
// across runs and keys answer these. They do not exist yet, and [Report] says
// so: its Trust is "unsigned".
package journal

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"hob/journal/durable"
	"hob/journal/redact"
)

var (
	// ErrWrite wraps the cause when something could not be made durable. The
	// run takes nothing more; Resume tells what of it there is.
	ErrWrite = errors.New("journal not written")
	// ErrConflict says that somebody else has the run, or wrote into it.
	ErrConflict = errors.New("another writer")
	// ErrFinished says that the run has its last event already.
	ErrFinished = errors.New("run is finished")
	// ErrTooLong says that an event is too long for a line. Nothing was
	// written, and the run takes other events.
	ErrTooLong = errors.New("event too long")
	// ErrDamaged says that a run can't be gone on with: its chain is broken.
	ErrDamaged = errors.New("run is damaged")
	// ErrWithheld says that a text was never kept.
	ErrWithheld = errors.New("text withheld")
	// ErrNoRun says that there is no such run.
	ErrNoRun = errors.New("no such run")
)

const (
	manifestFile = "manifest.json"
	eventsFile   = "events.ndjson"
	bodiesFile   = "bodies.log"
	lockFile     = "run.lock"

	dirPerm  = 0o700
	filePerm = 0o600

	// maxManifest bounds what is read of a manifest.
	maxManifest = 64 << 10
	// defaultMaxBody is that of [journal] max_payload_bytes.
	defaultMaxBody = 64 << 10
)

// Options say how to write. The zero value keeps no text at all.
type Options struct {
	// FS is where things are written; nil is durable.OS().
	FS durable.FS
	// Redact is applied to every text and every string; nil masks nothing.
	Redact *redact.Set
	// MaxBody is how many bytes of a text are kept; 0 is 64 KiB.
	MaxBody int
	// Content keeps texts. Without it only their length and digest are.
	Content bool
	// Reasoning keeps what models think as well, when Content is set.
	Reasoning bool
	// Notify gets each event once it is on the device, in the order of all
	// runs of this Log, and one at a time. It may record events itself. It is
	// called without a lock by a goroutine that is in Record; while it runs,
	// other goroutines leave their events to it and return.
	Notify func(Entry)
}

// A Log is the journal of one state folder. It may be used from any goroutine.
// It takes no lock on the folder: reading works beside a daemon.
type Log struct {
	dir string
	o   Options

	// mu orders everything that is written, so it is held across the write
	// and the sync: the order of lines is what it guards.
	mu        sync.Mutex
	entropy   ulid.MonotonicReader
	told      []Entry // written, and not yet given to Notify
	notifying bool
}

// Open returns the journal in dir, which it makes when it is missing. A daemon
// calls Recover next.
func Open(dir string, o Options) (*Log, error) {
	if o.FS == nil {
		o.FS = durable.OS()
	}
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	l := &Log{dir: dir, o: o, entropy: ulid.Monotonic(rand.Reader, 0)}
	for _, d := range []string{l.path("runs"), l.path("staging")} {
		if err := o.FS.MkdirAll(d, dirPerm); err != nil {
			return nil, fmt.Errorf("open journal: %w", err)
		}
	}
	return l, nil
}

// A Manifest says what a run is. It is written once; what is only known later
// is in events.
type Manifest struct {
	Version      int       `json:"version"`
	Run          string    `json:"run"`  // ULID: sorts by time
	Kind         string    `json:"kind"` // item or daemon
	Task         string    `json:"task,omitempty"`
	Item         string    `json:"item,omitempty"` // first words of its text
	Trigger      string    `json:"trigger,omitempty"`
	Hob          string    `json:"hob"`
	ConfigDigest string    `json:"config_digest,omitempty"`
	Host         string    `json:"host,omitempty"`
	Started      time.Time `json:"started"`
	Parent       string    `json:"parent,omitempty"` // run that this one goes on from
}

// Begin makes a run and returns it, open for events. It fills in Version, Run
// and, when zero, Started. Strings of m are masked. The folder appears whole
// or not at all, and lasts when Begin returns.
func (l *Log) Begin(m Manifest) (*Run, error) {
	if m.Kind != "item" && m.Kind != "daemon" {
		return nil, fmt.Errorf("begin run: kind %q is neither item nor daemon", m.Kind)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Started.IsZero() {
		m.Started = time.Now()
	}
	m.Started = m.Started.UTC().Truncate(time.Microsecond)
	id, err := ulid.New(ulid.Timestamp(m.Started), l.entropy)
	if err != nil {
		return nil, fmt.Errorf("begin run: %w", err)
	}
	m.Version, m.Run = version, id.String()
	manifest, err := l.encodeManifest(m)
	if err != nil {
		return nil, fmt.Errorf("begin run: %w", err)
	}
	if err := l.publish(m.Run, manifest); err != nil {
		return nil, fmt.Errorf("begin run %s: %w: %w", m.Run, ErrWrite, err)
	}
	unlock, err := l.lock(m.Run)
	if err != nil {
		return nil, err
	}
	return l.openRun(m.Run, state{prev: genesis(m.Run, manifest)}, unlock)
}

func (l *Log) encodeManifest(m Manifest) ([]byte, error) {
	for _, s := range []*string{&m.Kind, &m.Task, &m.Item, &m.Trigger, &m.Hob, &m.ConfigDigest, &m.Host, &m.Parent} {
		*s = bound(l.o.Redact.String(*s))
	}
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// publish makes the folder of a run in staging and moves it into place.
func (l *Log) publish(id string, manifest []byte) error {
	stage := l.path("staging", id)
	if err := l.o.FS.MkdirAll(stage, dirPerm); err != nil {
		return err
	}
	if err := l.writeNew(filepath.Join(stage, manifestFile), manifest); err != nil {
		return err
	}
	for _, name := range []string{eventsFile, bodiesFile} {
		if err := l.writeNew(filepath.Join(stage, name), nil); err != nil {
			return err
		}
	}
	if err := l.o.FS.SyncDir(stage); err != nil {
		return err
	}
	if err := l.o.FS.Rename(stage, l.path("runs", id)); err != nil {
		return err
	}
	return l.o.FS.SyncDir(l.path("runs"))
}

func (l *Log) writeNew(name string, data []byte) error {
	f, err := l.o.FS.Create(name, filePerm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// lock makes this the one writer of a run.
func (l *Log) lock(id string) (unlock func() error, err error) {
	unlock, err = durable.Lock(l.path("runs", id, lockFile))
	if errors.Is(err, durable.ErrLocked) {
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open run %s: %w", id, err)
	}
	return unlock, nil
}

// openRun opens the files of a run for appending after st, and takes over its
// lock. The caller holds mu.
func (l *Log) openRun(id string, st state, unlock func() error) (*Run, error) {
	var err error
	r := &Run{log: l, id: id, state: st, unlock: unlock, spans: make(spans), since: time.Now().Add(-st.mono)}
	r.events, err = l.o.FS.Append(r.path(eventsFile), filePerm)
	if err == nil {
		r.bodies, err = l.o.FS.Append(r.path(bodiesFile), filePerm)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open run %s: %w: %w", id, ErrWrite, err), r.release())
	}
	return r, nil
}

// path joins names below the journal's folder.
func (l *Log) path(names ...string) string {
	return filepath.Join(l.dir, filepath.Join(names...))
}

// notify hands on what has been written, unless somebody is at it already.
func (l *Log) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notifying {
		return
	}
	l.notifying = true
	defer func() { l.notifying = false }()
	for len(l.told) > 0 {
		e := l.told[0]
		l.told = l.told[1:]
		l.tell(e)
	}
}

// tell calls Notify without the lock, which is held again when it returns,
// also by a panic.
func (l *Log) tell(e Entry) {
	l.mu.Unlock()
	defer l.mu.Lock()
	l.o.Notify(e)
}
