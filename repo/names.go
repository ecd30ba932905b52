package repo

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isDotGit reports whether some file system would take name for .git: in any case,
// with characters that HFS+ ignores, in the forms that NTFS folds (CVE-2014-9390,
// CVE-2019-1352; git's path.c and utf8.c).
func isDotGit(name string) bool {
	name = strings.Map(func(c rune) rune {
		switch {
		case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x206a && c <= 0x206f, c == 0xfeff:
			return -1
		}
		return c
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, " .")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// maxPath is PATH_MAX of Linux in bytes: a longer path can't be checked out.
const maxPath = 4096

// badName says what is wrong with one component of a path; "" when nothing is.
func badName(name string) string {
	switch {
	case strings.ContainsFunc(name, unicode.IsControl):
		return "control character in the name"
	case strings.Contains(name, `\`):
		return "backslash in the name"
	case !utf8.ValidString(name):
		return "the name is not UTF-8"
	}
	return ""
}

// validRef checks a ref or branch name by git-check-ref-format(1).
func validRef(name string) bool {
	if name == "" || name == "@" || len(name) > 1024 || strings.HasPrefix(name, "-") || strings.HasSuffix(name, ".") {
		return false
	}
	if strings.ContainsAny(name, " ~^:?*[\\") || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	if strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// leadsOut reports whether a symbolic link at name with this target points outside
// of the tree, or into a git folder, as far as the text tells.
func leadsOut(name, target string) bool {
	if target == "" || path.IsAbs(target) {
		return true
	}
	full := path.Join(path.Dir(name), target)
	if full == ".." || strings.HasPrefix(full, "../") {
		return true
	}
	for part := range strings.SplitSeq(full, "/") {
		if isDotGit(part) {
			return true
		}
	}
	return false
}
