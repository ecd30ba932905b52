package edit

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// pathAbove finds the file name that belongs to the block at line i: in the info string of its fence, on a line
// of its own, or as the one path of a sentence. It looks at three lines of text and never past the edit before.
func (s *scanner) pathAbove(i int) string {
	for k, seen := i-1, 0; k >= s.barrier && seen < 3; k-- {
		line := s.lines[k]
		if strings.TrimSpace(line) == "" {
			continue
		}
		f, fenced := fenceOf(line)
		if !fenced {
			seen++
		}
		if s.hidden[k] {
			continue
		}
		found := s.view.pathIn(line)
		if fenced {
			found = s.view.pathInInfo(f.info)
		}
		if found != "" {
			return found
		}
	}
	return ""
}

// pathIn returns the path that a line of text names, or "".
func (v *overlay) pathIn(line string) string {
	if found := v.pathOnly(line); found != "" {
		return found
	}
	return v.pathQuoted(line)
}

// maxHeading is the longest line that is searched for a path: a path and what models wrap around it.
const maxHeading = maxPath + 256

// pathOnly returns the path of a line that holds nothing else, or "".
func (v *overlay) pathOnly(line string) string {
	if len(line) > maxHeading {
		return ""
	}
	name, wrapped := unwrap(line)
	if name == "" || slices.Contains(languages[:], strings.ToLower(name)) {
		return ""
	}
	if v.isFile(name) || plausible(name, wrapped) {
		return name
	}
	return ""
}

// pathQuoted returns the path of a sentence: the one existing file among its back-ticked words, else the only
// one of them that looks like a file in a folder.
func (v *overlay) pathQuoted(line string) string {
	if len(line) > maxHeading {
		return ""
	}
	var files, likely []string
	for i, word := range strings.Split(line, "`") {
		if i%2 == 0 {
			continue
		}
		word = strings.TrimSpace(word)
		switch {
		case v.isFile(word):
			files = add(files, word)
		case strings.Contains(word, "/") && hasExtension(word) && plausible(word, false):
			likely = add(likely, word)
		}
	}
	switch {
	case len(files) == 1:
		return files[0]
	case len(files) == 0 && len(likely) == 1:
		return likely[0]
	}
	return ""
}

func add(set []string, s string) []string {
	if slices.Contains(set, s) {
		return set
	}
	return append(set, s)
}

var (
	infoTitle = regexp.MustCompile(`(?:^|[\s{,])(?:title|file|filename|path)=(?:"([^"]+)"|'([^']+)'|([^\s"'}]+))`)
	infoColon = regexp.MustCompile(`^[A-Za-z0-9_+#-]+:(.+)$`)
)

// pathInInfo returns the path in the info string of a fence: `ts web/a.ts`, `ts:web/a.ts`, `ts title="web/a.ts"`.
// A first word is the language unless it has a folder: "makefile" is one.
func (v *overlay) pathInInfo(info string) string {
	if info == "" || len(info) > maxHeading {
		return ""
	}
	if m := infoTitle.FindStringSubmatch(info); m != nil {
		name := m[1] + m[2] + m[3]
		if v.isFile(name) || plausible(name, true) {
			return name
		}
		return ""
	}
	for i, word := range strings.Fields(info) {
		colon := infoColon.FindStringSubmatch(word)
		if i == 0 && colon != nil && len(colon[0])-len(colon[1]) > 2 { // longer than a drive letter
			word = colon[1]
		} else if i == 0 && !strings.Contains(word, "/") && !(hasExtension(word) && v.isFile(word)) {
			continue
		}
		if found := v.pathOnly(word); found != "" {
			return found
		}
	}
	return ""
}

var (
	bullet  = regexp.MustCompile(`^(?:[-*+]|\d{1,3}[.)]|#{1,6}|//)\s+`)
	label   = regexp.MustCompile(`(?i)^\**(?:file ?name|file ?path|file|path)\**\s*:\**\s*`)
	remark  = regexp.MustCompile(`(?i)\s*\((?:new|modified|updated|changed|created|existing)(?: file)?\)$`)
	wrapped = [...]string{"**", "`", `"`, "'"}
)

// unwrap removes what models write around a path. quoted reports whether something marks the whole as one name,
// so that it may hold blanks.
func unwrap(line string) (name string, quoted bool) {
	for before := ""; before != line; {
		before = line
		line = strings.TrimSpace(line)
		line = bullet.ReplaceAllString(line, "")
		if m := label.FindString(line); m != "" {
			line, quoted = line[len(m):], true
		}
		line = remark.ReplaceAllString(strings.TrimSuffix(line, ":"), "")
		for _, w := range wrapped {
			inner, ok := strings.CutPrefix(line, w)
			if inner, end := strings.CutSuffix(inner, w); ok && end && inner != "" && !strings.Contains(inner, w) {
				line, quoted = inner, true
			}
		}
	}
	return line, quoted
}

// knownNames are files that have neither folder nor extension.
var knownNames = [...]string{
	"Makefile", "makefile", "GNUmakefile", "Dockerfile", "Containerfile", "Jenkinsfile", "Vagrantfile",
	"Procfile", "Gemfile", "Rakefile", "Brewfile", "Pipfile", "Podfile", "Justfile", "justfile", "Caddyfile", "Tiltfile",
	"Kconfig", "CODEOWNERS",
}

// languages stand alone above fences and are never files (Aider-AI/aider#2879).
var languages = [...]string{
	"bash", "c", "cpp", "crystal", "css", "diff", "elixir", "go", "golang", "html", "java", "javascript", "json",
	"kotlin", "lua", "markdown", "perl", "php", "plaintext", "python", "ruby", "rust", "scala", "sh", "shell", "sql",
	"swift", "text", "toml", "typescript", "xml", "yaml", "zig",
}

// plausible reports whether a name that does not exist may be meant as a new file's. Sentences, rules, URLs and
// globs may not (Aider-AI/aider#3139).
func plausible(name string, quoted bool) bool {
	if strings.Contains(name, "://") || strings.ContainsAny(name, "*?<>|;,=!&`\"") || name[0] == '$' || name[0] == '@' && !strings.Contains(name, ".") {
		return false
	}
	if !strings.ContainsFunc(name, isWord) || strings.Contains(name, "()") {
		return false
	}
	if strings.ContainsAny(name, " \t") && !(quoted && hasExtension(name)) {
		return false
	}
	base := name[strings.LastIndexAny(name, `/\`)+1:]
	if strings.HasSuffix(base, ".") && base != "." && base != ".." {
		return false
	}
	return strings.ContainsAny(name, `/\`) || hasExtension(name) || slices.Contains(knownNames[:], name)
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
}

var extension = regexp.MustCompile(`\.[A-Za-z0-9_+-]*[A-Za-z][A-Za-z0-9_+-]*$`)

func hasExtension(name string) bool { return extension.MatchString(name) }

// isFile reports whether a name as written is something other than a folder; a link counts, so that what it
// leads to is judged by resolve.
func (v *overlay) isFile(name string) bool {
	if name == "" || strings.HasSuffix(name, "/") || wellFormed(name) != nil || escapes(name) {
		return false
	}
	mode, ok := v.look(path.Clean(name))
	return ok && !mode.IsDir()
}
