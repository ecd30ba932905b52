package todo

import (
	"fmt"
	"slices"
	"strings"
)

// link checks that the ids which items depend on exist and can come first.
func link(items []Item) {
	byID := make(map[string]int, len(items))
	for i := len(items) - 1; i >= 0; i-- {
		byID[items[i].ID] = i
	}
	edges := make([][]int, len(items))
	for i := range items {
		missing := ""
		for _, id := range items[i].Depends() {
			if target, ok := byID[id]; ok {
				edges[i] = append(edges[i], target)
			} else if missing == "" {
				missing = id
			}
		}
		if missing != "" {
			items[i].block(BadAttr, fmt.Sprintf("depends on %s, which is no item of this file", quote(missing)))
		}
	}
	for _, ring := range rings(edges) {
		ids := make([]string, 0, len(ring))
		for _, i := range ring {
			if len(ids) == 5 {
				ids = append(ids, "…")
				break
			}
			ids = append(ids, items[i].ID)
		}
		for _, i := range ring {
			items[i].block(DependencyCycle, "these items wait for each other: "+strings.Join(ids, ", "))
		}
	}
}

// rings returns the sets of nodes that can reach each other and those that have
// an edge to themselves: Tarjan's strongly connected components, with a stack of
// its own because the file decides how deep it goes.
func rings(edges [][]int) [][]int {
	var (
		found   [][]int
		index   = make([]int, len(edges)) // order of the visit, from 1; 0 is unvisited
		low     = make([]int, len(edges))
		onStack = make([]bool, len(edges))
		next    = make([]int, len(edges)) // edge to follow next
		stack   []int
		path    []int
		visited int
	)
	for root := range edges {
		if index[root] != 0 {
			continue
		}
		path = append(path, root)
		for len(path) > 0 {
			v := path[len(path)-1]
			if index[v] == 0 {
				visited++
				index[v], low[v] = visited, visited
				stack, onStack[v] = append(stack, v), true
			}
			if next[v] < len(edges[v]) {
				w := edges[v][next[v]]
				next[v]++
				switch {
				case index[w] == 0:
					path = append(path, w)
				case onStack[w]:
					low[v] = min(low[v], index[w])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				low[path[len(path)-1]] = min(low[path[len(path)-1]], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != v {
				at--
			}
			ring := append([]int(nil), stack[at:]...)
			stack = stack[:at]
			for _, w := range ring {
				onStack[w] = false
			}
			if len(ring) > 1 || slices.Contains(edges[v], v) {
				found = append(found, ring)
			}
		}
	}
	return found
}
