package edit

import (
	"iter"
	"strings"
)

// A hit is a place where SEARCH stands: n lines of the file from at on become lines.
type hit struct {
	at, n int
	lines []string
}

// A tier is one way of comparing SEARCH with the file. find returns every place, in order, each with the lines
// to write there: what a laxer comparison forgave has to be carried over to them.
type tier struct {
	name string
	find func(file, search, replace []string) []hit
}

// tiers is tried from the top; the first with a hit decides. A laxer one is a function and a line here.
var tiers = [...]tier{
	{"exact", exact},
}

// locate finds the one place of SEARCH in the file.
func (v *overlay) locate(f *file, search, replace []string) (hit, string, *refusal) {
	for _, t := range tiers {
		hits := t.find(f.text.lines, search, replace)
		switch {
		case len(hits) == 1:
			return hits[0], t.name, nil
		case len(hits) > 1:
			return hit{}, "", ambiguous(f.text.lines, hits)
		}
	}
	return hit{}, "", v.missing(f, search, replace)
}

// missing says why SEARCH is nowhere: the work is done already, or the text is not what the model thinks.
func (v *overlay) missing(f *file, search, replace []string) *refusal {
	if v.spend(f.length()) && telling(replace) {
		if hits := exact(f.text.lines, replace, nil); len(hits) > 0 {
			return refuse(AlreadyApplied, "the lines of REPLACE are in the file already, from line %d on; drop this block", hits[0].at+1)
		}
	}
	if s, r := countDots(search), countDots(replace); s > 0 && s != r {
		return refuse(BadElision, "SEARCH leaves out code in %d places and REPLACE in %d; write out all lines", s, r)
	}
	return v.noMatch(f, search)
}

// telling reports whether finding lines in a file says anything: a lone brace is everywhere.
func telling(lines []string) bool {
	full, shown := 0, 0
	for _, line := range lines {
		n := 0
		for i := range len(line) {
			if line[i] > ' ' {
				n++
			}
		}
		if n > 0 {
			full++
		}
		if shown += n; full >= 2 || shown >= 16 {
			return true
		}
	}
	return false
}

// exact is tier 0: the text of the lines is equal. Their endings are no part of it.
func exact(file, search, replace []string) []hit {
	var hits []hit
	if len(search) > len(file) {
		return nil
	}
	for at, n := range runs(search, file) {
		if n == len(search) {
			hits = append(hits, hit{at, n, replace})
		}
	}
	return hits
}

// runs yields, for each position in text, how many lines of pattern stand there. It is the Z algorithm
// (Gusfield, Algorithms on Strings, Trees and Sequences, 1997, 1.3-1.5) and linear: models do send a thousand
// blank lines.
func runs(pattern, text []string) iter.Seq2[int, int] {
	return func(yield func(at, n int) bool) {
		own := make([]int, len(pattern)) // runs of the pattern in itself
		w := window{pattern: pattern, own: own}
		for i := 1; i < len(pattern); i++ {
			own[i] = w.next(pattern, i)
		}
		if len(own) > 0 {
			own[0] = len(own)
		}
		w = window{pattern: pattern, own: own}
		for i := range text {
			if !yield(i, w.next(text, i)) {
				return
			}
		}
	}
}

// A window is the rightmost stretch of text known to equal the head of the pattern.
type window struct {
	pattern    []string
	own        []int
	start, end int
}

// next returns the run at i; it is called with rising i.
func (w *window) next(text []string, i int) int {
	n := 0
	if i < w.end {
		n = min(w.end-i, w.own[i-w.start])
	}
	for n < len(w.pattern) && i+n < len(text) && w.pattern[n] == text[i+n] {
		n++
	}
	if i+n > w.end {
		w.start, w.end = i, i+n
	}
	return n
}

// longest returns where the longest head of pattern stands in text, and its length.
func longest(pattern, text []string) (at, n int) {
	pattern = pattern[:min(len(pattern), len(text))] // no more can stand there
	for i, k := range runs(pattern, text) {
		if k > n {
			at, n = i, k
		}
	}
	return at, n
}

// trimmed returns lines without trailing blanks.
func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimRight(line, " \t")
	}
	return out
}
