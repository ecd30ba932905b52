package repo

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// rules are what the base commit says about paths. The agent's own edits to such
// files don't count until a person has merged them.
type rules struct {
	ignore   gitignore.Matcher
	filters  []filterRule
	pointers map[plumbing.Hash]bool // blobs that are LFS pointers
}

// lfsPointer is how the content of a file that LFS keeps elsewhere begins
// (git-lfs, docs/spec.md).
const lfsPointer = "version https://git-lfs.github.com/spec/"

// lfsPointerMax is the size in bytes a pointer stays below, by the same document.
const lfsPointerMax = 1024

// readRules reads every .gitignore and .gitattributes of the base, and finds the LFS
// pointers among its files.
func readRules(o *objects, m *manifest) (rules, error) {
	r := rules{pointers: map[plumbing.Hash]bool{}}
	var ignore []gitignore.Pattern
	macros := map[string]bool{}
	for _, name := range shallowFirst(m) {
		e, base := m.entries[name], path.Base(name)
		isRules := base == ".gitignore" || base == ".gitattributes"
		if !isRules && e.stat.size >= lfsPointerMax {
			continue
		}
		content, err := o.content(e.hash)
		if err != nil {
			return rules{}, fmt.Errorf("read %s of the base: %w", name, err)
		}
		switch {
		case base == ".gitignore":
			ignore = append(ignore, ignorePatterns(content, folder(name))...)
		case base == ".gitattributes":
			r.filters = append(r.filters, filterRules(content, folder(name), macros)...)
		case bytes.HasPrefix(content, []byte(lfsPointer)):
			r.pointers[e.hash] = true
		}
	}
	r.ignore = gitignore.NewMatcher(ignore)
	return r, nil
}

// shallowFirst lists the base's regular files, those nearer the top first: a rule
// further down the tree comes later and wins (gitignore(5), gitattributes(5)).
func shallowFirst(m *manifest) []string {
	names := make([]string, 0, len(m.entries))
	for name, e := range m.entries {
		if e.mode.IsFile() && e.mode != filemode.Symlink {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// folder returns the components of the folder that holds name.
func folder(name string) []string {
	dir := path.Dir(name)
	if dir == "." {
		return nil
	}
	return strings.Split(dir, "/")
}

func ignorePatterns(content []byte, domain []string) []gitignore.Pattern {
	var ps []gitignore.Pattern
	for line := range bytes.Lines(bytes.TrimPrefix(content, []byte("\ufeff"))) {
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		ps = append(ps, gitignore.ParsePattern(goGlob(text), domain))
	}
	return ps
}

// goGlob rewrites the negated class of fnmatch(3) to the one path.Match knows.
func goGlob(pattern string) string { return strings.ReplaceAll(pattern, "[!", "[^") }

// ignores reports whether the base's rules exclude name itself; a file in an
// excluded folder is the caller's business.
func (r rules) ignores(name string, isDir bool) bool {
	return r.ignore.Match(strings.Split(name, "/"), isDir)
}

// A filterRule is a line of a .gitattributes file that sets or unsets a filter. The
// matcher of go-git isn't used: it stops at the first line that sets any attribute,
// and a pattern that ends in a slash makes it panic.
type filterRule struct {
	domain  []string // folder of the file
	pattern []string // components; a single one matches the last component of a path
	on      bool
}

// filterRules parses one file. macros grows by those it defines, which only the file
// at the top may (gitattributes(5), DEFINING MACRO ATTRIBUTES).
func filterRules(content []byte, domain []string, macros map[string]bool) []filterRule {
	var rs []filterRule
	for line := range bytes.Lines(content) {
		pattern, attrs := splitAttributes(string(line))
		on, found := filterState(attrs, macros)
		if pattern == "" || strings.HasPrefix(pattern, "!") || !found {
			continue
		}
		if macro, ok := strings.CutPrefix(pattern, "[attr]"); ok {
			if domain == nil {
				macros[macro] = on
			}
			continue
		}
		parts := strings.Split(goGlob(pattern), "/")
		if parts[0] == "" {
			parts = parts[1:]
			if len(parts) == 1 {
				parts = append([]string{"."}, parts...)
			}
		}
		rs = append(rs, filterRule{domain: domain, pattern: parts, on: on})
	}
	return rs
}

// splitAttributes splits a line into its pattern, which may be quoted, and its attributes.
func splitAttributes(line string) (pattern string, attrs []string) {
	line = strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(line, `"`); ok {
		if quoted, after, ok := strings.Cut(rest, `"`); ok {
			return quoted, strings.Fields(after)
		}
	}
	fields := strings.Fields(line)
	if len(fields) == 0 || strings.HasPrefix(line, "#") {
		return "", nil
	}
	return fields[0], fields[1:]
}

// filterState says whether attributes switch a filter on; found is false when they
// don't speak of filters. The last word counts.
func filterState(attrs []string, macros map[string]bool) (on, found bool) {
	for _, a := range attrs {
		state, isMacro := macros[a]
		switch {
		case strings.HasPrefix(a, "filter="):
			on, found = true, true
		case a == "-filter", a == "!filter", a == "filter":
			on, found = false, true
		case isMacro:
			on, found = state, true
		}
	}
	return on, found
}

// filtered reports whether an attribute gives the content of name to a filter.
func (r rules) filtered(name string) bool {
	parts := strings.Split(name, "/")
	for _, rule := range slices.Backward(r.filters) {
		if rule.matches(parts) {
			return rule.on
		}
	}
	return false
}

func (f filterRule) matches(name []string) bool {
	if len(name) <= len(f.domain) || !slices.Equal(name[:len(f.domain)], f.domain) {
		return false
	}
	name = name[len(f.domain):]
	if len(f.pattern) == 1 {
		return matchParts(f.pattern, name[len(name)-1:])
	}
	if f.pattern[0] == "." {
		return matchParts(f.pattern[1:], name)
	}
	return matchParts(f.pattern, name)
}

// matchParts matches components against globs, where ** stands for any number of
// components. It goes back to the last ** only, so it takes at most the product of
// both lengths, whatever the pattern.
func matchParts(pattern, name []string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, mark = p, n
			p++
		case p < len(pattern) && globs(pattern[p], name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

func globs(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
