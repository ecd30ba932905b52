package edit

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxHops is the number of links followed on one path; Linux follows 40, no honest tree needs more than a few.
	maxHops = 8
	// maxPath and maxName are PATH_MAX and NAME_MAX of Linux.
	maxPath, maxName = 4096, 255
)

// resolve turns a path as the model wrote it into the file it names: relative, clean, free of links. What is
// refused is refused before anything at that place is read. The order of the checks is the order in which a
// path with several faults is judged.
func (v *overlay) resolve(raw string) (string, *refusal) {
	if no := wellFormed(raw); no != nil {
		return "", no
	}
	name := raw
	if !strings.Contains(name, "/") && strings.Contains(name, `\`) && !v.there(name) {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	if escapes(name) {
		return "", refuse(PathEscape, "the path leads out of the repository; use paths relative to its root")
	}
	for part := range strings.FieldsFuncSeq(name, isSeparator) {
		if isGit(part) {
			return "", refuse(ProtectedPath, "the path lies in a .git folder, which is never edited")
		}
	}
	clean := path.Clean(name)
	if last := name[strings.LastIndexByte(name, '/')+1:]; last == "" || last == "." || last == ".." {
		return "", v.folder(clean)
	}
	return v.walk(v.unprefixed(clean))
}

// wellFormed refuses what no file can be called.
func wellFormed(raw string) *refusal {
	control := func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
	switch {
	case raw == "" || !utf8.ValidString(raw) || strings.ContainsFunc(raw, control):
		return refuse(BadPath, "the path is empty or holds control characters")
	case len(raw) > maxPath:
		return refuse(BadPath, "the path is longer than %d bytes", maxPath)
	}
	for part := range strings.SplitSeq(raw, "/") {
		if len(part) > maxName {
			return refuse(BadPath, "a part of the path is longer than %d bytes", maxName)
		}
	}
	return nil
}

func isSeparator(r rune) bool { return r == '/' || r == '\\' }

// escapes reports whether the text of a path leaves the root: absolute, a home folder, a drive, or more ".."
// than folders. A backslash counts as a separator here even where it is not one.
func escapes(name string) bool {
	if isSeparator(rune(name[0])) || name == "~" || name[0] == '~' && strings.ContainsFunc(name, isSeparator) {
		return true
	}
	if len(name) > 1 && name[1] == ':' && unicode.IsLetter(rune(name[0])) {
		return true
	}
	depth := 0
	for part := range strings.FieldsFuncSeq(name, isSeparator) {
		switch part {
		case ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return true
		}
	}
	return false
}

// isGit reports whether a file system may take part for ".git": in any letter case, and as git-config(1) says
// under core.protectHFS (ignorable code points) and core.protectNTFS (short name, trailing dots and blanks,
// streams).
func isGit(part string) bool {
	part = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, part)
	part, _, _ = strings.Cut(part, ":")
	part = strings.TrimRight(part, ". ")
	return strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")
}

// unprefixed strips the a/ and b/ of a patch when only the rest exists.
func (v *overlay) unprefixed(name string) string {
	rest, ok := strings.CutPrefix(name, "a/")
	if !ok {
		rest, ok = strings.CutPrefix(name, "b/")
	}
	if ok && !v.there(name) && v.there(rest) {
		return rest
	}
	return name
}

// there reports whether a clean local name exists, a last link counting as itself.
func (v *overlay) there(name string) bool {
	_, ok := v.look(name)
	return ok
}

// look describes what a clean local name is, without following a link at its end.
func (v *overlay) look(name string) (mode fs.FileMode, ok bool) {
	if dir := path.Dir(name); dir != "." {
		parent, no := v.follow(dir)
		if no != nil {
			return 0, false
		}
		name = path.Join(parent, path.Base(name))
	}
	mode, ok, no := v.stat(name)
	return mode, ok && no == nil
}

// walk resolves links and refuses what is not, or cannot become, a regular file.
func (v *overlay) walk(name string) (string, *refusal) {
	resolved, no := v.follow(name)
	if no != nil {
		return "", no
	}
	mode, ok, no := v.stat(resolved)
	switch {
	case no != nil:
		return "", no
	case ok && mode.IsDir():
		return "", v.folder(resolved)
	case ok && !mode.IsRegular():
		return "", refuse(BadPath, "the path names a device, pipe or socket, not a file")
	}
	return resolved, nil
}

// follow resolves name one element at a time. Each element is looked at with its parents already free of links,
// so nothing outside the tree is ever touched.
func (v *overlay) follow(name string) (string, *refusal) {
	resolved := "."
	rest := strings.Split(name, "/")
	linked, hops := 0, 0 // the first linked elements of rest came out of a link
	for len(rest) > 0 {
		part := rest[0]
		rest, linked = rest[1:], linked-1
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			if resolved == "." {
				return "", escapesByLink("climbs out of the repository")
			}
			resolved = path.Dir(resolved)
			continue
		}
		next := path.Join(resolved, part)
		mode, ok, no := v.stat(next)
		switch {
		case no != nil:
			return "", no
		case !ok && linked >= 0:
			return "", escapesByLink("leads nowhere")
		case !ok:
			return created(next, rest)
		case mode&fs.ModeSymlink != 0:
			if hops++; hops > maxHops {
				return "", escapesByLink("leads through too many others")
			}
			target, no := v.target(next)
			if no != nil {
				return "", no
			}
			rest, linked = append(target, rest...), max(linked, 0)+len(target)
			continue
		case !mode.IsDir() && len(rest) > 0:
			if touchesGit(next) {
				return "", refuse(ProtectedPath, "the path leads into a .git folder, which is never edited")
			}
			return "", refuse(BadPath, "%s is a file, not a folder", next)
		}
		resolved = next
	}
	if touchesGit(resolved) {
		return "", refuse(ProtectedPath, "the path leads into a .git folder, which is never edited")
	}
	return resolved, nil
}

// created completes a path whose element next does not exist yet.
func created(next string, rest []string) (string, *refusal) {
	name := path.Join(next, path.Join(rest...))
	if touchesGit(name) {
		return "", refuse(ProtectedPath, "the path leads into a .git folder, which is never edited")
	}
	return name, nil
}

// target returns the elements a link leads to.
func (v *overlay) target(name string) ([]string, *refusal) {
	target, err := v.tree.Readlink(name)
	switch {
	case err != nil:
		return nil, refuse(IOError, "read link %s: %v", name, err)
	case target == "" || path.IsAbs(target) || len(target) > maxPath:
		return nil, escapesByLink("leads out of the repository")
	}
	return strings.Split(target, "/"), nil
}

func escapesByLink(how string) *refusal {
	return refuse(SymlinkEscape, "the path goes through a link that %s", how)
}

func touchesGit(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if isGit(part) {
			return true
		}
	}
	return false
}

// stat describes what stands at a name without links in its parents: the overlay's own files and the folders
// they imply first, then the tree. Answers of the tree are kept, since it does not change meanwhile.
func (v *overlay) stat(name string) (mode fs.FileMode, ok bool, no *refusal) {
	if f := v.files[name]; f != nil && f.present {
		return f.mode, true, nil
	}
	if v.folders[name] {
		return fs.ModeDir, true, nil
	}
	s, known := v.stats[name]
	if !known {
		v.spend(statWork)
		info, err := v.tree.Lstat(name)
		switch {
		case err == nil:
			s = stat{mode: info.Mode(), size: info.Size(), ok: true}
		case !errors.Is(err, fs.ErrNotExist):
			s.no = refuse(IOError, "look at %s: %v", name, err)
		}
		v.stats[name] = s
	}
	return s.mode, s.ok, s.no
}

// statWork is what one call of Lstat costs, in lines: some microseconds.
const statWork = 300

// folder is the refusal of a path that names a folder, with what is in it.
func (v *overlay) folder(name string) *refusal {
	no := refuse(IsDirectory, "the path names a folder; name the file in it")
	no.detail = func() []string {
		dir, no := v.follow(name)
		if no != nil {
			return nil
		}
		return v.listing(dir)
	}
	return no
}
