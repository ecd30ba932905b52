package edit

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// noMatch is the refusal of a SEARCH that is nowhere, with what the file has instead.
func (v *overlay) noMatch(f *file, search []string) *refusal {
	lines := f.text.lines
	no := refuse(NoMatch, "SEARCH is not in the file")
	no.detail = func() []string {
		told := divergence(lines, search)
		told = append(told, partOfLine(lines, search)...)
		told = append(told, v.elsewhere(f, search)...)
		return append(told, windows(lines, search)...)
	}
	return no
}

// divergence names the first line that differs after the longest head of SEARCH that is in the file. In real
// failures the first lines are mostly right (holon-run/holon#2741), so quoting those tells nothing.
func divergence(lines, search []string) []string {
	at, n := longest(search, lines)
	if n == 0 {
		return []string{"no line of the file equals its first line: " + show(search[0])}
	}
	told := []string{fmt.Sprintf("its first %d lines are lines %d-%d of the file; then", n, at+1, at+n), "  SEARCH has:   " + show(search[n])}
	if n == 1 {
		told[0] = fmt.Sprintf("its first line is line %d of the file; then", at+1)
	}
	if at+n == len(lines) {
		return append(told, "  the file ends")
	}
	return append(told, fmt.Sprintf("  line %d has: %s", at+n+1, show(lines[at+n])))
}

// partOfLine tells when the text is there, but is not a whole line (cline/cline#11439).
func partOfLine(lines, search []string) []string {
	if len(search) != 1 {
		return nil
	}
	text := strings.TrimSpace(search[0])
	for i, line := range lines {
		if strings.Contains(line, text) && strings.TrimSpace(line) != text {
			return []string{fmt.Sprintf("your text is part of line %d; quote the whole line: %s", i+1, show(line))}
		}
	}
	return nil
}

// elsewhere looks for SEARCH in the other files of the reply: nothing is loaded for it.
func (v *overlay) elsewhere(f *file, search []string) []string {
	for _, other := range v.order {
		if other != f && v.spend(other.length()) && len(exact(other.text.lines, search, nil)) > 0 {
			return []string{"these lines are in another file, " + show(other.path)}
		}
	}
	return nil
}

const (
	maxWindows = 2
	around     = 3  // lines shown on either side of a window
	maxWindow  = 12 // lines shown of a window itself
	maxCommon  = 50 // a line that occurs more often in SEARCH says nothing about where it belongs
)

// windows shows the places where at least half of SEARCH stands, leading and trailing blanks aside.
func windows(lines, search []string) []string {
	places := map[string][]int{}
	full := 0
	for j, line := range search {
		if line = strings.TrimSpace(line); line != "" {
			places[line] = append(places[line], j)
			full++
		}
	}
	votes := map[int]int{} // by the file line where SEARCH would start
	for i, line := range lines {
		if at := places[strings.TrimSpace(line)]; len(at) <= maxCommon {
			for _, j := range at {
				votes[i-j]++
			}
		}
	}
	var starts []int
	for at, n := range votes {
		if 2*n >= full {
			starts = append(starts, at)
		}
	}
	slices.SortFunc(starts, func(a, b int) int { return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b)) })
	var told []string
	shown := 0
	for i, at := range starts {
		near := func(other int) bool { return max(at-other, other-at) < len(search) }
		if shown == maxWindows || slices.ContainsFunc(starts[:min(i, 8)], near) {
			continue
		}
		shown++
		told = append(told, fmt.Sprintf("%d of its %d lines are near line %d:", votes[at], full, max(at, 0)+1))
		told = append(told, numbered(lines, at-around, at+min(len(search), maxWindow)+around)...)
	}
	return told
}

// numbered shows the lines from start up to end, as far as there are any.
func numbered(lines []string, start, end int) []string {
	var told []string
	for i := max(start, 0); i < min(end, len(lines)); i++ {
		told = append(told, fmt.Sprintf("%5d| %s", i+1, show(lines[i])))
	}
	return told
}

// maxPlaces is how many places of an ambiguous SEARCH are listed.
const maxPlaces = 5

// ambiguous is the refusal of a SEARCH that stands in several places.
func ambiguous(lines []string, hits []hit) *refusal {
	no := refuse(AmbiguousMatch, "SEARCH is in the file %d times", len(hits))
	no.detail = func() []string {
		var told []string
		for _, h := range hits[:min(maxPlaces, len(hits))] {
			place := fmt.Sprintf("line %d", h.at+1)
			if in := enclosing(lines, h.at); in >= 0 {
				place += fmt.Sprintf(", inside line %d: %s", in+1, show(strings.TrimSpace(lines[in])))
			}
			told = append(told, place)
		}
		return told
	}
	return no
}

// maxClimb is how far up an enclosing line is looked for.
const maxClimb = 2000

// enclosing returns the nearest line above at that is indented less and starts with a word, or -1: by
// indentation alone, that is the function or class around it.
func enclosing(lines []string, at int) int {
	depth := indentOf(lines[at])
	for i := at - 1; i >= max(at-maxClimb, 0); i-- {
		text := strings.TrimSpace(lines[i])
		if text != "" && indentOf(lines[i]) < depth && (isWord(rune(text[0])) || text[0] == '@' || text[0] == '"') {
			return i
		}
	}
	return -1
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// A lister is a Tree that can also name what a folder holds.
type lister interface {
	ReadDir(name string) ([]fs.DirEntry, error)
}

const (
	maxListed    = 10    // entries shown of a folder
	maxSuggested = 3     // paths suggested for one that does not exist
	maxVisited   = 5_000 // entries looked at for a suggestion
)

// listing shows what a folder holds.
func (v *overlay) listing(dir string) []string {
	var told []string
	for _, e := range v.entries(dir) {
		if len(told) == maxListed {
			return append(told, "  …")
		}
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			name += "/"
		}
		told = append(told, "  "+show(name))
	}
	return told
}

// entries lists a folder of the tree, without .git; nil when the tree cannot.
func (v *overlay) entries(dir string) []fs.DirEntry {
	l, ok := v.tree.(lister)
	if !ok {
		return nil
	}
	list, err := l.ReadDir(dir)
	if err != nil {
		return nil // a suggestion less; the refusal stands by itself
	}
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return isGit(e.Name()) })
}

// notFound is the refusal of lines to replace in a file that is not there. Names like it are suggested, never
// taken (Aider-AI/aider#1222).
func (v *overlay) notFound(raw string) *refusal {
	no := refuse(FileNotFound, "there is no such file; to create it, leave SEARCH empty")
	no.detail = func() []string {
		var told []string
		for _, name := range v.similar(path.Clean(raw)) {
			told = append(told, "did you mean "+show(name))
		}
		return told
	}
	return no
}

// similar returns the files that a missing path may have meant: the same base name, or one slip of the pen.
func (v *overlay) similar(name string) []string {
	var found []string
	base := path.Base(name)
	queue := []string{"."}
	for visited := 0; len(queue) > 0 && visited < maxVisited && len(found) < maxSuggested; queue = queue[1:] {
		for _, e := range v.entries(queue[0]) {
			visited++
			full := path.Join(queue[0], e.Name())
			switch {
			case e.IsDir():
				queue = append(queue, full)
			case len(found) < maxSuggested && (e.Name() == base || distance(full, name) <= 2):
				found = append(found, full)
			}
		}
	}
	return found
}

// distance is the Levenshtein distance of two paths in bytes, or 3 when it is more than 2.
func distance(a, b string) int {
	if max(len(a)-len(b), len(b)-len(a)) > 2 || len(a) > maxShown {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], 3)
}
