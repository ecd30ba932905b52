package model

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"

	"hob/journal/durable"
)

// Limits are in micro-USD; 0 is no limit of that kind. A day and a month are
// those of the calendar in the ledger's time zone: "ten dollars a day" must be
// explainable by a clock on the wall, which a rolling day is not.
type Limits struct {
	Run, Item, Day, Month int64
	WarnPercent           int // of each limit; 0 warns never
}

// A Charge says whom a call is for and what it may cost at most, in micro-USD.
type Charge struct {
	Run, Item, Model string
	Estimate         int64
}

// ErrLedger is wrapped when a line of the ledger can't be read: what was spent is
// not known then, and guessing could spend it twice.
var ErrLedger = errors.New("the ledger is damaged")

// BudgetError refuses a call before it is made.
type BudgetError struct {
	Reason string // budget_run, budget_item, budget_day or budget_month
	Limit  int64  // micro-USD, as the next two
	Spent  int64  // settled, and reserved by calls under way
	Need   int64  // the refused call's estimate
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%s: %s spent and %s needed of %s", e.Reason, usd(e.Spent), usd(e.Need), usd(e.Limit))
}

// usd shows micro-USD to four decimals, cut.
func usd(micro int64) string {
	return fmt.Sprintf("%d.%04d USD", micro/1_000_000, micro%1_000_000/100)
}

// A Warning says that a limit is close. It is given once for each run and limit.
type Warning struct {
	Reason       string // as in BudgetError
	Spent, Limit int64  // micro-USD, the new reservation included
}

// A Ledger counts money across runs and days. It is one file of JSON lines for
// each month; a line is on disk before the call it stands for is made. One
// process at a time may have a folder open. The methods may be called from any
// goroutine.
type Ledger struct {
	dir string
	fs  durable.FS
	loc *time.Location

	// mu is held across the write of a line: two calls that are checked against
	// the same sum must not both be made.
	mu     sync.Mutex
	book   book
	lastID int64
	open   int64           // reserved by calls under way
	page   *page           // nil until the first write
	warned map[string]bool // by run and reason
}

// OpenLedger opens the ledger in dir, which is made if there is none, and counts
// again what it holds. A line torn by a crash is cut off: the call it stood for
// was never made. Any other line that can't be read is an error, because
// guessing what was spent could spend it twice. Days and months begin at
// midnight in loc, nil being local time.
func OpenLedger(dir string, fs durable.FS, loc *time.Location) (*Ledger, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make ledger folder: %w", err)
	}
	l := &Ledger{dir: dir, fs: fs, loc: cmp.Or(loc, time.Local), book: newBook(), warned: map[string]bool{}}
	if err := l.recount(); err != nil {
		return nil, err
	}
	return l, nil
}

// A Reservation holds money back for one call. Settle it when the call has
// ended, or Release it when the call was not made or was free. While neither
// happens, and for ever if the process dies, the estimate counts as spent on the
// day it was reserved.
type Reservation struct {
	// Warnings are the limits that this reservation brought close.
	Warnings []Warning

	ledger *Ledger
	id     int64
	charge Charge
	day    string
	ended  bool // guarded by ledger.mu
}

// Reserve holds back c.Estimate, or returns a *BudgetError when that doesn't fit
// into what a limit leaves. The reservation is on disk when it returns.
func (l *Ledger) Reserve(limits Limits, c Charge, now time.Time) (*Reservation, error) {
	if c.Estimate < 0 {
		return nil, fmt.Errorf("reserve %d micro-USD: negative", c.Estimate)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Reservation{ledger: l, id: l.lastID + 1, charge: c, day: l.day(now)}
	purses := l.book.purses(limits, c, r.day)
	for _, p := range purses {
		if p.limit > 0 && plus(p.spent, c.Estimate) > p.limit {
			return nil, &BudgetError{Reason: p.reason, Limit: p.limit, Spent: p.spent, Need: c.Estimate}
		}
	}
	l.lastID = r.id // also when the write fails: the line may be on disk all the same
	if err := l.write(newRecord(opReserve, r, c.Estimate, now, r.day)); err != nil {
		return nil, fmt.Errorf("reserve %s: %w", usd(c.Estimate), err)
	}
	l.book.add(c, r.day, c.Estimate)
	l.open = plus(l.open, c.Estimate)
	r.Warnings = l.warnings(purses, limits.WarnPercent, c)
	return r, nil
}

// warnings names the purses that c brings to percent of their limit for the
// first time in its run.
func (l *Ledger) warnings(purses []purse, percent int, c Charge) []Warning {
	var ws []Warning
	for _, p := range purses {
		key := c.Run + "\x00" + p.reason
		spent := plus(p.spent, c.Estimate)
		if percent <= 0 || p.limit <= 0 || l.warned[key] || float64(spent) < float64(p.limit)*float64(percent)/100 {
			continue
		}
		l.warned[key] = true
		ws = append(ws, Warning{Reason: p.reason, Spent: spent, Limit: p.limit})
	}
	return ws
}

// Settle replaces the estimate by what the call did cost, charged to the day of
// now, which is when the call ended. estimated marks a usage that the provider
// didn't report. A second Settle, or one after Release, does nothing. After an
// error the estimate still counts.
func (r *Reservation) Settle(usage Usage, micro int64, estimated bool, now time.Time) error {
	if micro < 0 {
		return fmt.Errorf("settle %d micro-USD: negative", micro)
	}
	return r.end(opSettle, micro, now, func(rec *record) { rec.Usage, rec.Estimated = &usage, estimated })
}

// Release gives the money back. After Settle it does nothing, so that it can be
// deferred. After an error the estimate still counts.
func (r *Reservation) Release() error {
	return r.end(opRelease, 0, time.Now(), func(*record) {})
}

// end writes how the reservation ended and counts it.
func (r *Reservation) end(op string, micro int64, now time.Time, fill func(*record)) error {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.ended {
		return nil
	}
	rec := newRecord(op, r, micro, now, l.day(now))
	fill(&rec)
	if err := l.write(rec); err != nil {
		return fmt.Errorf("%s call %d: %w", op, r.id, err)
	}
	r.ended = true
	l.book.add(r.charge, r.day, -r.charge.Estimate)
	l.open = plus(l.open, -r.charge.Estimate)
	l.book.add(r.charge, rec.Day, micro)
	return nil
}

// Item is what an item has cost over all runs and days, in micro-USD, with what
// is reserved for it.
func (l *Ledger) Item(id string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.items[id]
}

// Run is what a run has cost, in micro-USD, with what is reserved for it.
func (l *Ledger) Run(id string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.runs[id]
}

// Day is what the calendar day of now has cost, in micro-USD, with what is
// reserved.
func (l *Ledger) Day(now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.days[l.day(now)]
}

// Reserved is what calls under way may cost, in micro-USD; Day and the others hold it
// already.
func (l *Ledger) Reserved() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Month is what the calendar month of now has cost, in micro-USD, with what is
// reserved.
func (l *Ledger) Month(now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.months[month(l.day(now))]
}

// Close closes the month's file. Everything is on disk already.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closePage()
}

func (l *Ledger) day(now time.Time) string { return now.In(l.loc).Format(time.DateOnly) }

// month is the month of a day: "2026-11" of "2026-11-30".
func month(day string) string { return day[:len("2006-01")] }

// write appends one durable line to the file of the record's month.
func (l *Ledger) write(rec record) error {
	name := filepath.Join(l.dir, month(rec.Day)+pageExt)
	if l.page == nil || l.page.name != name {
		if err := l.closePage(); err != nil {
			return err
		}
		p, err := openPage(l.fs, name)
		if err != nil {
			return err
		}
		l.page = p
	}
	err := l.page.append(rec)
	if err != nil {
		// What is on disk now is known only by reading it; the next write does.
		err = errors.Join(err, l.closePage())
	}
	return err
}

func (l *Ledger) closePage() error {
	p := l.page
	l.page = nil
	if p == nil {
		return nil
	}
	return p.file.Close()
}

// recount adds up all pages.
func (l *Ledger) recount() error {
	names, err := filepath.Glob(filepath.Join(l.dir, "*"+pageExt))
	if err != nil {
		return fmt.Errorf("list ledger: %w", err)
	}
	fates := map[int64]record{}
	for _, name := range names {
		records, _, err := readPage(name)
		if err != nil {
			return err
		}
		for _, rec := range records {
			// Lines of one call may be read in any order: its end outweighs its beginning.
			if rec.Op != opReserve || fates[rec.ID].Op == "" {
				fates[rec.ID] = rec
			}
		}
	}
	for id, rec := range fates {
		l.lastID = max(l.lastID, id)
		l.book.add(rec.charge(), rec.Day, rec.Micro)
	}
	return nil
}

// A book holds the sums, all in micro-USD.
type book struct {
	runs, items, days, months map[string]int64
}

func newBook() book {
	return book{map[string]int64{}, map[string]int64{}, map[string]int64{}, map[string]int64{}}
}

func (b book) add(c Charge, day string, micro int64) {
	b.runs[c.Run] = plus(b.runs[c.Run], micro)
	b.items[c.Item] = plus(b.items[c.Item], micro)
	b.days[day] = plus(b.days[day], micro)
	b.months[month(day)] = plus(b.months[month(day)], micro)
}

// A purse is a sum with its limit.
type purse struct {
	reason       string
	limit, spent int64
}

func (b book) purses(l Limits, c Charge, day string) []purse {
	return []purse{
		{"budget_run", l.Run, b.runs[c.Run]},
		{"budget_item", l.Item, b.items[c.Item]},
		{"budget_day", l.Day, b.days[day]},
		{"budget_month", l.Month, b.months[month(day)]},
	}
}

// plus adds without overflow.
func plus(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
