package todo

// A Delta pairs the items of two readings by their indexes, old first. Every
// item of either reading is in exactly one of the lists.
type Delta struct {
	// Same have the same id.
	Same [][2]int `json:"same"`
	// Renamed were reworded: their history moves along.
	Renamed [][2]int `json:"renamed"`
	// Gone are old items that are not in the new file.
	Gone []int `json:"gone"`
	// New are new items that were not in the old file.
	New []int `json:"new"`
}

// maxComparisons bounds the search for renames. Beyond it (some thousands of
// items replaced at once) the file was rewritten, not edited.
const maxComparisons = 1 << 24

// Diff compares two readings. Neither may be [Doc.TooLarge].
func Diff(before, after Doc) Delta {
	d := Delta{Same: [][2]int{}, Renamed: [][2]int{}, Gone: []int{}, New: []int{}}
	byID := map[string][]int{}
	for j, it := range after.Items {
		byID[it.ID] = append(byID[it.ID], j)
	}
	matched := make([]bool, len(after.Items))
	var left, fresh []int
	for i, it := range before.Items {
		js := byID[it.ID]
		if len(js) == 0 {
			left = append(left, i)
			continue
		}
		d.Same = append(d.Same, [2]int{i, js[0]})
		matched[js[0]] = true
		byID[it.ID] = js[1:]
	}
	for j := range after.Items {
		if !matched[j] {
			fresh = append(fresh, j)
		}
	}
	renamedFrom := renames(before.Items, after.Items, left, fresh)
	renamedTo := map[int]bool{}
	for _, i := range left {
		j, ok := renamedFrom[i]
		if !ok {
			d.Gone = append(d.Gone, i)
			continue
		}
		d.Renamed = append(d.Renamed, [2]int{i, j})
		renamedTo[j] = true
	}
	for _, j := range fresh {
		if !renamedTo[j] {
			d.New = append(d.New, j)
		}
	}
	return d
}

// renames maps old items to new ones of equal depth and enough common words,
// where neither has a second candidate.
func renames(before, after []Item, left, fresh []int) map[int]int {
	found := map[int]int{}
	oldWords, oldSum := wordSets(before, left)
	newWords, newSum := wordSets(after, fresh)
	if oldSum*len(fresh)+newSum*len(left) > maxComparisons {
		return found
	}
	candidates := map[int][]int{} // old → new
	rivals := map[int]int{}       // new → number of old ones
	for a, i := range left {
		for b, j := range fresh {
			if before[i].Depth == after[j].Depth && alike(oldWords[a], newWords[b]) {
				candidates[i] = append(candidates[i], j)
				rivals[j]++
			}
		}
	}
	for i, js := range candidates {
		if len(js) == 1 && rivals[js[0]] == 1 {
			found[i] = js[0]
		}
	}
	return found
}

func wordSets(items []Item, indexes []int) (sets []map[string]bool, sum int) {
	for _, i := range indexes {
		set := words(items[i].Text)
		sets = append(sets, set)
		sum += len(set) + 1
	}
	return sets, sum
}

// alike tells whether at least 0.6 of all words of a pair are in both (the Jaccard
// index), in whole numbers: three words of five.
func alike(a, b map[string]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if 5*len(a) < 3*len(b) {
		return false
	}
	common := 0
	for w := range a {
		if b[w] {
			common++
		}
	}
	return common > 0 && 5*common >= 3*(len(a)+len(b)-common)
}
