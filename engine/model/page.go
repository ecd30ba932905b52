package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hob/journal/durable"
)

const pageExt = ".jsonl"

// What a ledger line says of a call.
const (
	opReserve = "reserve"
	opSettle  = "settle"
	opRelease = "release"
)

// A record is one line of the ledger. Each has all that is needed to count it,
// so that the order of lines, which a clock set back can change, doesn't matter.
type record struct {
	TS        time.Time `json:"ts"`
	Day       string    `json:"day"` // in the ledger's zone of then: a changed zone moves no money
	Op        string    `json:"op"`
	ID        int64     `json:"id"` // of the reservation
	Run       string    `json:"run"`
	Item      string    `json:"item"`
	Model     string    `json:"model"`
	Micro     int64     `json:"usd_micro"`
	Usage     *Usage    `json:"usage,omitempty"`
	Estimated bool      `json:"estimated,omitempty"`
}

func newRecord(op string, r *Reservation, micro int64, now time.Time, day string) record {
	c := r.charge
	return record{TS: now, Day: day, Op: op, ID: r.id, Run: c.Run, Item: c.Item, Model: c.Model, Micro: micro}
}

func (r record) charge() Charge { return Charge{Run: r.Run, Item: r.Item, Model: r.Model} }

// check refuses what hob never writes.
func (r record) check() error {
	_, err := time.Parse(time.DateOnly, r.Day)
	switch {
	case err != nil:
		return err
	case r.Op != opReserve && r.Op != opSettle && r.Op != opRelease:
		return fmt.Errorf("unknown op %q", r.Op)
	case r.Micro < 0:
		return errors.New("negative usd_micro")
	}
	return nil
}

// A page is one month's file, open at its end.
type page struct {
	name string
	file durable.File
}

// openPage opens the file for appending. A torn last line is cut off first, so
// that the next one doesn't become part of it.
func openPage(fsys durable.FS, name string) (p *page, err error) {
	_, whole, err := readPage(name)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return nil, err
	}
	f, err := fsys.Append(name, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open ledger: %w", err), f.Close())
		}
	}()
	if err := f.Truncate(whole); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	if err := fsys.SyncDir(filepath.Dir(name)); err != nil {
		return nil, err
	}
	return &page{name, f}, nil
}

// append makes one line last.
func (p *page) append(rec record) error {
	b, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if _, err := p.file.Write(append(b, '\n')); err != nil {
		return err
	}
	return p.file.Sync()
}

// readPage returns the records of a file and the length of the lines they stand
// in. What follows that length is one torn line: one without its line feed, or a
// last one that is no record, since a crash may write the end of a line first.
func readPage(name string) (records []record, whole int64, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, 0, fmt.Errorf("read ledger: %w", err)
	}
	for n := 1; ; n++ {
		text, rest, terminated := bytes.Cut(data[whole:], []byte("\n"))
		if !terminated {
			return records, whole, nil
		}
		var rec record
		err := json.Unmarshal(text, &rec)
		if err == nil {
			err = rec.check()
		}
		switch {
		case err != nil && len(rest) == 0 && len(records) > 0:
			return records, whole, nil
		case err != nil:
			return nil, 0, fmt.Errorf("%w: %s:%d: %w", ErrLedger, name, n, err)
		}
		records = append(records, rec)
		whole += int64(len(text)) + 1
	}
}
